// Package rev reads stored documents: branches and their histories, bodies, and answers with one or many documents. A
// Stream reads one database for as long as an answer takes. Package write writes documents, and layer/revtree defines
// branches and winners.
//
// docs/design/stitched-feeds.md explains streams.
package rev

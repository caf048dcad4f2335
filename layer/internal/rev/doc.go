// Package rev reads what is stored of documents: branches and their histories, bodies, and answers with one or many of
// them. A stream reads one database for as long as an answer takes. Writing documents is in package write, and the
// rules of branches and winners are in layer/revtree.
//
// docs/design/stitched-feeds.md explains streams.
package rev

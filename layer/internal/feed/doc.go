// Package feed reads the changes feed of a database (clauses C1 to C7). It merges shards, reshards, makes cuts for
// builds, and counts the entries between two sequences. Package write writes the entries; package actors wakes waiting
// readers.
//
// docs/design/stitched-feeds.md and docs/design/resharding.md explain the two hard parts.
package feed

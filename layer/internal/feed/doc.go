// Package feed reads the changes of a database (clauses C1 to C7): shards and how they are merged, reshards, cuts as of
// which builds read, and counts of what lies between two sequences. Entries are written in package write, and who waits
// for them is woken in actors.
//
// docs/design/stitched-feeds.md and docs/design/resharding.md explain the two hard parts.
package feed

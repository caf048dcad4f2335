// Package feed reads the changes of a database (clauses C1 to C7): shards and how they are merged, reshards, cuts as of
// which builds read, and counts of what lies between two sequences.
package feed

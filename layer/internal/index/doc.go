// Package index knows the rows of indexes: their keys and values, the entries that say which rows a document has, where
// an index stands, and how it is read as of one sequence while a build writes it (clause P8). It neither makes rows,
// which package build does, nor answers queries, which package query does.
//
// docs/design/exact-index-reads.md explains how.
package index

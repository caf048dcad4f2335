// Package index stores the rows of indexes: their keys and values, the entries that list each document's rows, and an
// index's sequence and build status. It also reads rows as of one sequence while a build writes them (clause P8).
// Package build makes the rows; package query answers queries from them.
//
// docs/design/exact-index-reads.md explains how.
package index

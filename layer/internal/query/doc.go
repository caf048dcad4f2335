// Package query answers questions to views: rows, offsets and reductions, with what was written since the last build
// laid over where a query asks for that. It does not wait for an index to be built, which is decided in actors.
//
// docs/design/exact-index-reads.md explains which rows and which documents go together.
package query

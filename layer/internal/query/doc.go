// Package query reads views: rows, offsets and reductions. If a query asks for it, changes since the last build are
// mapped and merged on the fly. The package does not wait for an index to be built; package actors decides about that.
//
// docs/design/exact-index-reads.md explains which rows and which documents go together.
package query

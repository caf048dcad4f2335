// Package mango plans Mango queries: it reads `_find`, `_explain` and `_index` requests, decides which index of a
// database answers a query and which range of its rows, and explains the decision as CouchDB 3.5 does.
//
// It follows CouchDB's choice of an index: of those whose fields the selector requires to exist, the one that narrows
// down most fields of the selector, then the one with the fewest fields, then the first by name. It knows nothing about
// how indexes are stored or read.
package mango

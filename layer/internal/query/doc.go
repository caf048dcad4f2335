// Package query answers questions to views: rows, offsets and reductions, with what was written since the last build laid
// over where a query asks for that.
package query

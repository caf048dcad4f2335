// Package aggregate maintains partial aggregates of the rows of views, so that a reduction, an offset or a skip reads
// only a few values. It writes them, marks changes, repairs them, and reads ranges by them. layer/reduce defines the
// reductions of JSON values; package query uses the results.
//
// docs/design/partial-aggregates.md explains partials, marks and epochs.
package aggregate

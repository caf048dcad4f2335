// Package aggregate keeps partial aggregates of the rows of views, so that a reduction, an offset or a skip reads few
// values: writing them, marking what has changed, mending them, and reading by them. Reductions of JSON values are in
// layer/reduce; what a query makes of them is in package query.
//
// docs/design/partial-aggregates.md explains partials, marks and epochs.
package aggregate

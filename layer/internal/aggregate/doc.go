// Package aggregate keeps partial aggregates of the rows of views, so that a reduction reads few of them.
package aggregate

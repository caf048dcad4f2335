// Package exec runs query plans over a small set of reads that it declares itself (reads.go). It knows neither SQL text
// nor the wire: package bind makes the expressions, package funcs has what they call, package plan the plans, and
// package query wires them.
package exec

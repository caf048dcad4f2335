// Package exec runs query plans over a small set of reads that it declares itself (reads.go). It knows neither SQL text nor the
// wire: package sql builds the plans, package query wires the two.
package exec

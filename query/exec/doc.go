// Package exec runs query plans over a small set of reads that it declares itself (reads.go). It does not depend on SQL
// text or on the protocol: package bind builds the expressions, package funcs implements the functions they call,
// package plan builds the plans, and package query connects them.
package exec

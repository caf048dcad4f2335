// Package writes is what a transaction has written, before its commit: the net effect for each key, in key order, and
// what atomic operations make of values. Reads go through it in package versions, and package commit applies it.
package writes

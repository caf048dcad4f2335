// Package writes holds a transaction's writes before its commit: the net effect on each key, in key order, and the
// results of atomic operations. Package versions reads through it, and package commit applies it.
package writes

// Package cache remembers values within a bound of bytes, and has several callers who want the same value wait for one
// of them. It knows nothing of what the values are, nor whether they are still true: its users check that.
package cache

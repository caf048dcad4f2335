// Package cache remembers values within a bound of bytes, and has several callers who want the same value wait for one of
// them.
package cache

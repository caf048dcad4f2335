// Package conflict remembers which keys were written at which version in the last seconds, and detects whether a
// transaction's reads are still valid at its commit. It keeps no values; package commit decides the order of commits.
package conflict

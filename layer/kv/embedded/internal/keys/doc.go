// Package keys has operations on keys and key ranges: spans, sets of spans, memory for copies, and the rules for
// legal keys. It knows nothing about stored values.
package keys

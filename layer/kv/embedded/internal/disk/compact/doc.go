// Package compact decides when Pebble compacts: how many compactions run, and which ranges are compacted soon because
// rows in them were cleared. The compactions themselves are Pebble's.
package compact

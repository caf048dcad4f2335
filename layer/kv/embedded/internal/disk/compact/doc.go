// Package compact decides when Pebble compacts: how many compactions run, and which ranges are compacted soon because
// of what was cleared in them. How a compaction works is Pebble's.
package compact

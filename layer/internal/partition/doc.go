// Package partition reads the counters of a partition (clause P2), and counts the partitions of databases that are
// older than these counters. Package db changes the counters with every edit.
package partition

package db

import "sync/atomic"

// Nearness tracks whether rows that are read together are stored close together, so that range reads pay off. It is
// safe for concurrent use.
type Nearness struct {
	scattered atomic.Int32 // scattered batches in a row; if negative, batches to skip
}

// Worth reports whether a range read should be tried for the next batch.
func (b *Nearness) Worth() bool {
	n := b.scattered.Load()
	if n < 0 {
		b.scattered.Add(1)
		return false
	}
	return n < scanFailures
}

// Judge records how many of a batch's rows were found by range reads.
func (b *Nearness) Judge(found, wanted int) {
	switch {
	case 2*found >= wanted:
		b.scattered.Store(0)
	case b.scattered.Add(1) >= scanFailures:
		b.scattered.Store(-scanAgain)
	}
}

const (
	// ScanFrom is the minimum number of bodies for a range read.
	ScanFrom = 16
	// ScanGap is the maximum number of unwanted rows in a row that a range read passes over. After more, another range
	// read is begun behind them.
	ScanGap = 8
	// ScanGapBytes is the maximum size of these rows.
	ScanGapBytes = 32 << 10
	// ScanRanges is the maximum number of range reads for a batch. Range reads wait for each other, while reads of
	// single keys do not.
	ScanRanges = 4
	// scanFailures is the number of consecutive scattered batches after which range reads are only tried occasionally.
	scanFailures = 3
	// scanAgain is how many batches are then skipped before the next try.
	scanAgain = 16
)

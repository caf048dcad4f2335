package db

import "sync/atomic"

// Nearness knows whether what is read together lies close together. Safe for concurrent use.
type Nearness struct {
	scattered atomic.Int32 // batches in a row, or fewer than 0: batches to leave alone
}

// Worth reports whether the next batch is worth a range read.
func (b *Nearness) Worth() bool {
	n := b.scattered.Load()
	if n < 0 {
		b.scattered.Add(1)
		return false
	}
	return n < scanFailures
}

// Judge notes how many of a batch were found.
func (b *Nearness) Judge(found, wanted int) {
	switch {
	case 2*found >= wanted:
		b.scattered.Store(0)
	case b.scattered.Add(1) >= scanFailures:
		b.scattered.Store(-scanAgain)
	}
}

const (
	// ScanFrom is how many bodies are worth a range read.
	ScanFrom = 16
	// ScanGap is how many rows that are not wanted a range read passes over before the next one is begun behind them.
	ScanGap = 8
	// ScanGapBytes is how large they may be together.
	ScanGapBytes = 32 << 10
	// ScanRanges is how many range reads there are for a batch: they wait for each other, while reads of single keys do
	// not.
	ScanRanges = 4
	// scanFailures is how many batches in a row may be scattered until no more range reads are tried but now and then.
	scanFailures = 3
	// scanAgain is how many batches are left alone then before the next try.
	scanAgain = 16
)

package layer

import "sync/atomic"

// nearness knows whether what is read together lies close together. Safe for concurrent use.
type nearness struct {
	scattered atomic.Int32 // batches in a row, or fewer than 0: batches to leave alone
}

// worth reports whether the next batch is worth a range read.
func (b *nearness) worth() bool {
	n := b.scattered.Load()
	if n < 0 {
		b.scattered.Add(1)
		return false
	}
	return n < scanFailures
}

// judge notes how many of a batch were found.
func (b *nearness) judge(found, wanted int) {
	switch {
	case 2*found >= wanted:
		b.scattered.Store(0)
	case b.scattered.Add(1) >= scanFailures:
		b.scattered.Store(-scanAgain)
	}
}

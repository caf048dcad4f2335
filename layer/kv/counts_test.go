package kv

import (
	"testing"
	"time"
)

// Tested from inside, since only Transact counts.
func TestCounted_Quantile(t *testing.T) {
	var c Counts
	if q := c.Counted().Quantile(0.99); q != 0 {
		t.Errorf("of nothing: %v", q)
	}
	for i := range 1000 {
		c.committed(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond,
		1: time.Second} {
		if got := c.Counted().Quantile(q); got < want*85/100 || got > want*115/100 {
			t.Errorf("quantile %v is %v, not about %v", q, got, want)
		}
	}
	for _, odd := range []time.Duration{0, -1, 1e6 * time.Hour, time.Microsecond, 3 * time.Microsecond} {
		c.committed(odd)
	}
	if n := c.Counted(); n.Commits != 1005 {
		t.Errorf("%d commits", n.Commits)
	}
}

// Commits are counted by powers of two of a microsecond, for metrics.
func TestCounts_Within(t *testing.T) {
	var c Counts
	for _, took := range []time.Duration{time.Microsecond, 127 * time.Microsecond, 128 * time.Microsecond, time.Hour} {
		c.committed(took)
	}
	n := c.Counted()
	if n.Within(1) != 1 || n.Within(7) != 2 || n.Within(8) != 3 || n.Within(31) != 3 ||
		n.Took != time.Hour+256*time.Microsecond {
		t.Errorf("%d %d %d %d in %v", n.Within(1), n.Within(7), n.Within(8), n.Within(31), n.Took)
	}
}

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

package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1500}, {1 << 20, 1500}, {16 << 20, 300}, {32 << 20, 100}, {64 << 20, 100}, {1 << 40, 100}} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%d bytes: %d%%, want %d%%", c.live, got, c.want)
		}
	}
}

// TestCollectLess checks that the percentage follows the heap, and is Go's again at the end.
func TestCollectLess(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	now := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	until := func(what string, ok func(int) bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(now()); runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%s: %d%%", what, now())
			}
			runtime.GC()
		}
	}
	stop := collectLess()
	until("a small heap", func(p int) bool { return p > 100 })
	held := make([]byte, heapFloor)
	until("a large heap", func(p int) bool { return p == 100 })
	runtime.KeepAlive(held)
	until("a small heap again", func(p int) bool { return p > 100 })
	stop()
	if p := now(); p != 100 {
		t.Errorf("after the end: %d%%", p)
	}
	t.Setenv("GOGC", "50")
	collectLess()()
	if p := now(); p != 100 {
		t.Errorf("with the operator's GOGC: %d%%", p)
	}
}

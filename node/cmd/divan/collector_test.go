package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		live, scanned uint64
		want          int
	}{
		{0, 0, 1500}, {1 * mb, 1 * mb, 1500}, {16 * mb, 16 * mb, 300}, {32 * mb, 10 * mb, 100},
		{64 * mb, 10 * mb, 50}, {128 * mb, 10 * mb, 25}, {128 * mb, 64 * mb, 50}, {128 * mb, 128 * mb, 100},
		{1 << 40, 1 << 40, 100}, {1 << 40, 0, 12},
	} {
		if got := percentFor(c.live, c.scanned); got != c.want {
			t.Errorf("%d bytes, %d scanned: %d%%, want %d%%", c.live, c.scanned, got, c.want)
		}
	}
}

// TestCollectLess checks that the percentage follows the heap, and is Go's again at the end.
func TestCollectLess(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	now := func() int {
		p := debug.SetGCPercent(standardPercent)
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
	bytes := make([]byte, 4*heapFloor)
	until("a large heap of bytes", func(p int) bool { return p < 20 })
	runtime.KeepAlive(bytes)
	pointers := make([]*byte, heapFloor/8)
	for i := range pointers {
		pointers[i] = new(byte)
	}
	until("a large heap of pointers", func(p int) bool { return p > 60 && p <= 100 })
	runtime.KeepAlive(pointers)
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

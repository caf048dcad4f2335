package embedded_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// heldUp returns a store with a damaged block of rows of b to e, and with tables above it in level 0 until that is
// nearly full. The next compaction takes all of them, since none began before.
func heldUp(t *testing.T, clear bool) *embedded.Engine {
	t.Helper()
	e := openDamaged(t, embedded.Options{})
	nearlyFull(t, e, clear)
	return e
}

// openDamaged opens a store with a damaged block, which may fail later.
func openDamaged(t *testing.T, o embedded.Options) *embedded.Engine {
	t.Helper()
	o.Logger, o.MemTableBytes = quiet(t), 1<<20
	e, err := embedded.Open(damagedInside(t, writtenStore(t, 1), 0.4, 0), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// nearlyFull fills level 0 up to one table, and then allows its compaction.
func nearlyFull(t *testing.T, e *embedded.Engine, clear bool) {
	t.Helper()
	e.HoldCompactions()
	if clear {
		clearRange(t, e, "b", "f")
	}
	for level0(e) < embedded.StopWrites-1 {
		writeTable(t, e)
	}
	e.ReleaseCompactions()
}

func level0(e *embedded.Engine) int { return int(e.Pebble().Metrics().Levels[0].Sublevels) }

// writeTable writes rows before and after the damaged ones, and flushes them to a table.
func writeTable(t *testing.T, e *embedded.Engine) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set([]byte("a/"), []byte("1"))
		tx.Set([]byte("g/"), []byte("1"))
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Pebble().Flush(); err != nil {
		t.Fatal(err)
	}
}

// If level 0 is full and its compaction waits for a damaged block, writes are refused instead of waiting for ever.
func TestEngine_refusesHeldUp(t *testing.T) {
	oneGoroutine(t)
	e := heldUp(t, false)
	refuses(t, e)
}

// The inspector does not wait for space in level 0, even if there was some when it checked.
func TestEngine_refusesHeldUpInspector(t *testing.T) {
	oneGoroutine(t)
	var e *embedded.Engine
	filled := make(chan struct{})
	fill := sync.OnceFunc(func() {
		if err := e.Pebble().Set([]byte("g/"), nil, nil); err != nil {
			t.Error(err)
		}
		if err := e.Pebble().Flush(); err != nil {
			t.Error(err)
		}
		close(filled)
	})
	e = openDamaged(t, embedded.Options{}.WithBeforeFlush(func() { fill() }))
	nearlyFull(t, e, false)
	<-filled // a compaction has met the damaged block
	refuses(t, e)
}

// refuses checks that writes are refused because level 0 is full.
func refuses(t *testing.T, e *embedded.Engine) {
	t.Helper()
	defer func() { _ = e.Close() }() // it returns the failure
	var err error
	for turn := 0; err == nil && turn < 100; turn++ {
		err = writeRows(t, e, 'g', turn)
	}
	if err == nil || e.Failed() == nil || !strings.Contains(e.Failed().Error(), "level 0 is full") {
		t.Fatalf("writes end with %v, the store with %v", err, e.Failed())
	}
}

// If the damaged rows are cleared and the clear is in a table, writes continue after a while.
func TestEngine_goesOnHeldUp(t *testing.T) {
	oneGoroutine(t)
	e := heldUp(t, true)
	for turn := range 10 {
		if err := writeRows(t, e, 'g', turn); err != nil {
			t.Fatal(err)
		}
	}
	healed(t, e)
	hasNone(t, e, "bcde")
	hasRows(t, e, "af", 0)
	closeEngine(t, e)
}

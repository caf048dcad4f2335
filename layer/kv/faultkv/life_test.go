package faultkv_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/kv/kvtest"
)

func mustOpen(t *testing.T) kv.Engine {
	e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestWithLife checks that a transaction reads until its simulated lifetime is used up, independent of real time, and
// cannot commit afterwards.
func TestWithLife(t *testing.T) {
	below := mustOpen(t)
	e := faultkv.WithLife(below, 10*time.Millisecond)
	reads := func() int {
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		tx.Set([]byte("b"), []byte("1"))
		for n := 0; ; n++ {
			if _, err := tx.Get([]byte("a")).Wait(); err != nil {
				if !kv.IsCode(err, kv.CodeTooOld) || !kv.Retryable(err) {
					t.Fatal(err)
				}
				if err := tx.Commit(); !kv.IsCode(err, kv.CodeTooOld) {
					t.Errorf("the commit of a dead transaction: %v", err)
				}
				return n
			}
		}
	}
	first := reads()
	time.Sleep(time.Millisecond)
	if again := reads(); first == 0 || first != again {
		t.Errorf("%d reads, then %d", first, again)
	}
	if got := stored(t, below, "b"); got != "" {
		t.Errorf("a dead transaction has written %q", got)
	}
}

// TestWithLife_rows checks that rows and their bytes use up the lifetime too, and that a long snapshot has no limit.
func TestWithLife_rows(t *testing.T) {
	e := faultkv.WithLife(mustOpen(t), time.Millisecond)
	tx := e.Begin(t.Context())
	for i := range 2000 {
		tx.Set([]byte{'a', byte(i >> 8), byte(i)}, make([]byte, 100))
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	count := func(r kv.Reader) (n int, err error) {
		it := r.GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("b")}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			n++
		}
		return n, it.Err()
	}
	tx = e.Begin(t.Context())
	defer tx.Cancel()
	if n, err := count(tx); n == 0 || n > 500 || !kv.IsCode(err, kv.CodeTooOld) {
		t.Errorf("%d rows, %v", n, err)
	}
	together := func(ranges []kv.KeyRange) (n int, err error) {
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		it, ok := kv.GetRanges(tx.Snapshot(), ranges)
		if !ok {
			t.Fatal("the engine below has GetRanges, and this one does not")
		}
		defer it.Close()
		for it.Next() {
			n++
		}
		return n, it.Err()
	}
	all := kv.KeyRange{Begin: []byte("a"), End: []byte("b")}
	if n, err := together([]kv.KeyRange{all}); n == 0 || n > 500 || !kv.IsCode(err, kv.CodeTooOld) {
		t.Errorf("GetRanges gave %d rows, %v", n, err)
	}
	if n, err := together(make([]kv.KeyRange, 1000)); n != 0 || !kv.IsCode(err, kv.CodeTooOld) {
		t.Errorf("GetRanges of empty ranges gave %d rows, %v", n, err)
	}
	snap, ok, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer snap.Close()
	if n, err := count(snap); n != 2000 || err != nil {
		t.Errorf("%d rows of a snapshot, %v", n, err)
	}
}

// TestWithLife_serialisable checks that the history stays strictly serialisable with short lifetimes.
func TestWithLife_serialisable(t *testing.T) {
	if err := (kvtest.Load{Seed: 5}).Check(t.Context(),
		faultkv.WithLife(mustOpen(t), 20*time.Millisecond)); err != nil {
		t.Error(err)
	}
}

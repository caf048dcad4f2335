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

func open(t *testing.T, o faultkv.Options) faultkv.Engine {
	below, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	e := faultkv.New(below, o)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func stored(t *testing.T, e kv.Engine, key string) string {
	t.Helper()
	v, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get([]byte(key)).Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// TestNew_each injects each fault of a commit at rate 1 and checks what the caller sees and what the store holds
// afterwards.
func TestNew_each(t *testing.T) {
	tests := []struct {
		fault faultkv.Fault
		rates faultkv.Rates
		code  kv.Code
		maybe bool
		want  string
	}{
		{faultkv.Conflict, faultkv.Rates{Conflict: 1}, kv.CodeNotCommitted, false, ""},
		{faultkv.UnknownLost, faultkv.Rates{UnknownLost: 1}, kv.CodeUnknownResult, true, ""},
		{faultkv.UnknownCommitted, faultkv.Rates{UnknownCommitted: 1}, kv.CodeUnknownResult, true, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.fault.String(), func(t *testing.T) {
			e := open(t, faultkv.Options{Rates: tt.rates})
			tx := e.Begin(t.Context())
			w := tx.Watch([]byte("w"))
			tx.Set([]byte("a"), []byte("1"))
			err := tx.Commit()
			if !kv.IsCode(err, tt.code) || !kv.Retryable(err) || kv.MaybeCommitted(err) != tt.maybe {
				t.Errorf("commit: %v", err)
			}
			<-w.Done()
			if !kv.IsCode(w.Err(), tt.code) {
				t.Errorf("watch: %v", w.Err())
			}
			if _, err := tx.CommittedVersion(); err == nil {
				t.Error("a version after a failed commit")
			}
			if _, err := tx.Versionstamp(); err == nil {
				t.Error("a versionstamp after a failed commit")
			}
			if e.Injected()[tt.fault] != 1 || len(e.Injected()) != 1 {
				t.Errorf("injected %v", e.Injected())
			}
			if got := stored(t, e, "a"); got != tt.want {
				t.Errorf("the store has %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNew_reads(t *testing.T) {
	for _, tt := range []struct {
		fault faultkv.Fault
		rates faultkv.Rates
		code  kv.Code
	}{
		{faultkv.TooOld, faultkv.Rates{TooOld: 1}, kv.CodeTooOld},
		{faultkv.FutureVersion, faultkv.Rates{FutureVersion: 1}, kv.CodeFutureVersion},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			e := open(t, faultkv.Options{Rates: tt.rates})
			everything := kv.KeyRange{End: []byte{0xff}}
			for name, read := range map[string]func(tx kv.Transaction) error{
				"Get": func(tx kv.Transaction) error { _, err := tx.Get([]byte("a")).Wait(); return err },
				"GetKey": func(tx kv.Transaction) error {
					_, err := tx.GetKey(kv.FirstGreaterThan(nil)).Wait()
					return err
				},
				"ReadVersion": func(tx kv.Transaction) error { _, err := tx.ReadVersion().Wait(); return err },
				"snapshot": func(tx kv.Transaction) error {
					_, err := tx.Snapshot().Get([]byte("a")).Wait()
					return err
				},
				"GetRange": func(tx kv.Transaction) error {
					it := tx.GetRange(everything, kv.RangeOptions{})
					defer it.Close()
					for it.Next() {
					}
					return it.Err()
				},
				"GetRanges": func(tx kv.Transaction) error {
					it, ok := kv.GetRanges(tx.Snapshot(), []kv.KeyRange{everything})
					if !ok {
						return nil
					}
					defer it.Close()
					for it.Next() {
					}
					return it.Err()
				},
			} {
				tx := e.Begin(t.Context())
				for range 2 { // the failure is final
					if err := read(tx); !kv.IsCode(err, tt.code) || !kv.Retryable(err) {
						t.Errorf("%s: %v", name, err)
					}
				}
				tx.Set([]byte("a"), nil)
				if err := tx.Commit(); !kv.IsCode(err, tt.code) {
					t.Errorf("%s, then commit: %v", name, err)
				}
			}
		})
	}
}

func TestNew_spuriousWatch(t *testing.T) {
	e := open(t, faultkv.Options{Rates: faultkv.Rates{Spurious: 1}})
	tx := e.Begin(t.Context())
	w := tx.Watch([]byte("a"))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

func TestNew_slow(t *testing.T) {
	e := open(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1}, Delay: 20 * time.Millisecond})
	start := time.Now()
	for range 10 {
		stored(t, e, "a")
	}
	if d := time.Since(start); d < 20*time.Millisecond {
		t.Errorf("20 slow calls took %v", d)
	}
}

func TestEngine_Kill(t *testing.T) {
	e := open(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
	if err := e.Begin(t.Context()).Commit(); err != nil {
		t.Fatal(err)
	}
	open, armed := e.Begin(t.Context()), e.Begin(t.Context())
	it := open.GetRange(kv.KeyRange{End: []byte{0xff}}, kv.RangeOptions{})
	w := armed.Watch([]byte("a"))
	if err := armed.Commit(); err != nil {
		t.Fatal(err)
	}
	snap, _, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	e.Kill()
	e.Kill()
	<-w.Done()
	if it.Next() || !kv.IsCode(it.Err(), kv.CodeCancelled) {
		t.Errorf("range: %v", it.Err())
	}
	it.Close()
	open.Set([]byte("a"), []byte("1"))
	for what, err := range map[string]error{
		"watch":                  w.Err(),
		"open transaction":       func() error { _, err := open.Get([]byte("a")).Wait(); return err }(),
		"its commit":             open.Commit(),
		"a new one":              func() error { _, err := e.Begin(t.Context()).Get([]byte("a")).Wait(); return err }(),
		"snapshot":               func() error { _, err := snap.Get([]byte("a")).Wait(); return err }(),
		"a new one's first call": func() error { _, _, err := kv.OpenSnapshot(t.Context(), e); return err }(),
	} {
		if !kv.IsCode(err, kv.CodeCancelled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ranges, ok := kv.GetRanges(snap, []kv.KeyRange{{End: []byte{0xff}}})
	if !ok || ranges.Next() || !kv.IsCode(ranges.Err(), kv.CodeCancelled) {
		t.Errorf("ranges of a snapshot of a killed engine: %t", ok)
	}
	e.Revive()
	if got := stored(t, e, "a"); got != "" {
		t.Errorf("a dead transaction wrote %q", got)
	}
	if _, err := open.Get([]byte("a")).Wait(); err == nil {
		t.Error("a dead transaction came back")
	}
}

// TestNew_sameSeed checks that with one goroutine the same calls fail in every run.
func TestNew_sameSeed(t *testing.T) {
	run := func(seed uint64) (outcomes []bool) {
		e := open(t, faultkv.Options{Seed: seed, Delay: time.Nanosecond})
		for range 200 {
			tx := e.Begin(t.Context())
			_, err := tx.Get([]byte("a")).Wait()
			if err == nil {
				tx.Set([]byte("a"), nil)
				err = tx.Commit()
			}
			outcomes = append(outcomes, err == nil)
			tx.Cancel()
		}
		return outcomes
	}
	first, again, other := run(7), run(7), run(8)
	differs := false
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("call %d differs with the same seed", i)
		}
		differs = differs || first[i] != other[i]
	}
	if !differs {
		t.Error("another seed made no difference")
	}
}

// TestNew_rangesTogether checks that GetRanges fails part-way as often as single range reads do.
func TestNew_rangesTogether(t *testing.T) {
	e := open(t, faultkv.Options{Seed: 1, Rates: faultkv.Rates{TooOld: 0.3}})
	var ranges []kv.KeyRange
	for i := range 200 {
		ranges = append(ranges, kv.KeyRange{Begin: []byte{'a', byte(i)}, End: []byte{'a', byte(i), 0}})
	}
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		for _, r := range ranges {
			tx.Set(r.Begin, nil)
		}
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	broken, whole := 0, 0
	for range 100 {
		tx := e.Begin(t.Context())
		it, ok := kv.GetRanges(tx.Snapshot(), ranges)
		if !ok {
			t.Fatal("the engine below has GetRanges, and this one does not")
		}
		n := 0
		for it.Next() {
			n++
		}
		if err := it.Err(); err == nil {
			if whole++; n != len(ranges) {
				t.Errorf("%d rows of %d", n, len(ranges))
			}
		} else if broken++; n == len(ranges) || !kv.IsCode(err, kv.CodeTooOld) {
			t.Errorf("%d rows, %v", n, err)
		} else if n > 0 && n%16 != 0 {
			t.Errorf("broken off after %d rows", n)
		}
		it.Close()
		tx.Cancel()
	}
	if broken == 0 || e.Injected()[faultkv.TooOld] < broken {
		t.Errorf("%d whole, %d broken, injected %v", whole, broken, e.Injected())
	}
}

// TestNew_serialisable checks that the history stays strictly serialisable under faults.
func TestNew_serialisable(t *testing.T) {
	e := open(t, faultkv.Options{Seed: 3, Delay: 100 * time.Microsecond})
	if err := (kvtest.Load{Seed: 3}).Check(t.Context(), e); err != nil {
		t.Error(err)
	}
	for f := faultkv.Conflict; f < faultkv.Spurious; f++ {
		if e.Injected()[f] == 0 {
			t.Errorf("no %v was injected", f)
		}
	}
}

package embedded_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// quiet writes the store's log to the log of the test.
func quiet(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func mustOpen(tb testing.TB, dir string, o embedded.Options) *embedded.Engine {
	tb.Helper()
	if o.Logger == nil {
		o.Logger = quiet(tb)
	}
	e, err := embedded.Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return e
}

func set(tb testing.TB, e kv.Engine, pairs ...string) int64 {
	tb.Helper()
	_, c, err := kv.Transact(tb.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		for i := 0; i < len(pairs); i += 2 {
			tx.Set([]byte(pairs[i]), []byte(pairs[i+1]))
		}
		return struct{}{}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c.Version
}

func get(tb testing.TB, e kv.Engine, key string) string {
	tb.Helper()
	tx := e.Begin(tb.Context())
	defer tx.Cancel()
	v, err := tx.Get([]byte(key)).Wait()
	if err != nil {
		tb.Fatal(err)
	}
	return string(v)
}

func TestOpen_keepsWhatWasCommitted(t *testing.T) {
	dir := t.TempDir()
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	first := set(t, e, "a", "1", "b", "2")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	e = mustOpen(t, dir, embedded.Options{})
	if got := get(t, e, "a") + get(t, e, "b"); got != "12" {
		t.Errorf("after a restart: %q", got)
	}
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	if v, err := tx.ReadVersion().Wait(); err != nil || v != first {
		t.Errorf("read version %d, %v after a restart, committed was %d", v, err, first)
	}
	if second := set(t, e, "a", "3"); second <= first {
		t.Errorf("version %d after %d", second, first)
	}
}

func TestOpen_refuses(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, embedded.Options{})
	_, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err == nil || !strings.Contains(err.Error(), "in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a directory in use: %v", err)
	}
}

func TestEngine_Close_endsEverything(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	var pairs []string
	for i := range 5000 {
		pairs = append(pairs, fmt.Sprintf("k%05d", i), "v")
	}
	set(t, e, pairs...)
	tx := e.Begin(t.Context())
	it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")}, kv.RangeOptions{})
	if !it.Next() {
		t.Fatal(it.Err())
	}
	armed := e.Begin(t.Context())
	w := armed.Watch([]byte("k00001"))
	if err := armed.Commit(); err != nil {
		t.Fatal(err)
	}
	snap, err := e.OpenSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if !kv.IsCode(w.Err(), kv.CodeCancelled) {
		t.Errorf("watch: %v", w.Err())
	}
	for it.Next() {
	}
	if !kv.IsCode(it.Err(), kv.CodeCancelled) {
		t.Errorf("range read: %v", it.Err())
	}
	it.Close()
	if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("read: %v", err)
	}
	tx.Set([]byte("a"), nil)
	if err := tx.Commit(); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("commit: %v", err)
	}
	if _, err := snap.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("snapshot: %v", err)
	}
	snap.Close()
	tx = e.Begin(t.Context())
	if _, err := tx.ReadVersion().Wait(); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("a transaction begun later: %v", err)
	}
	if _, err := e.OpenSnapshot(t.Context()); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("a snapshot opened later: %v", err)
	}
}

// TestEngine_counters has many goroutines increment few keys by reading and writing them: no increment may be lost.
func TestEngine_counters(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	const workers, rounds = 8, 50
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := []byte{'c', byte('0' + (w+i)%3)}
				_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{},
					func(tx kv.Transaction) (struct{}, error) {
						v, err := tx.Get(key).Wait()
						if err != nil {
							return struct{}{}, err
						}
						tx.Set(key, append(bytes.Clone(v), 'x'))
						return struct{}{}, nil
					})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(get(t, e, "c0") + get(t, e, "c1") + get(t, e, "c2")); n != workers*rounds {
		t.Errorf("%d increments remain of %d", n, workers*rounds)
	}
}

func slogDiscard() *slog.Logger { return slog.New(slog.DiscardHandler) }

package layer_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

// conflictCounter counts commits and conflicts.
type conflictCounter struct {
	kv.Engine
	commits, conflicts atomic.Int64
}

func (c *conflictCounter) Begin(ctx context.Context) kv.Transaction {
	return conflictCounted{c.Engine.Begin(ctx), c}
}

type conflictCounted struct {
	kv.Transaction
	c *conflictCounter
}

func (t conflictCounted) Commit() error {
	err := t.Transaction.Commit()
	t.c.commits.Add(1)
	if kv.IsCode(err, kv.CodeNotCommitted) {
		t.c.conflicts.Add(1)
	}
	return err
}

// prefixesOf returns the prefix numbers of all databases by name.
func prefixesOf(tb testing.TB, e kv.Engine) map[string]int64 {
	tb.Helper()
	numbers := map[string]int64{}
	for _, row := range dumpOf(tb, e) {
		if row.key[0] == int64(keyspace.Databases) && len(row.key) == 2 {
			number, _, err := tuple.TakeInt(row.value)
			if err != nil {
				tb.Fatal(err)
			}
			numbers[row.key[1].(string)] = number
		}
	}
	return numbers
}

// Databases that are created at once, while others are deleted, never share a prefix and seldom conflict. With a simple
// counter nearly all would conflict.
func TestPrefixes_atOnce(t *testing.T) {
	const workers, each = 16, 40
	e := &conflictCounter{Engine: mustEngine(t)}
	s := mustStore(t, e, layer.Options{})
	var mu sync.Mutex
	taken := map[int64]string{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("db%d-%d", w, i)
				if _, err := s.Create(t.Context(), name, layer.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
				if i%10 != 9 {
					continue
				}
				numbers := prefixesOf(t, e)
				mu.Lock()
				for name, n := range numbers {
					if other := taken[n]; other != "" && other != name {
						t.Errorf("%s and %s have the prefix %d", name, other, n)
					}
					taken[n] = name
				}
				mu.Unlock()
				if err := s.Delete(t.Context(), name); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	numbers := prefixesOf(t, e)
	for name, n := range numbers {
		if other := taken[n]; other != "" && other != name {
			t.Errorf("%s and %s have the prefix %d", name, other, n)
		}
		taken[n] = name
	}
	if want := workers * (each - each/10); len(numbers) != want || len(taken) < want {
		t.Fatalf("%d databases with %d prefixes, want %d", len(numbers), len(taken), want)
	}
	for n := range taken { // twice as many numbers as were allocated, and one window
		if n >= 2*workers*each+1024 {
			t.Errorf("prefix %d of %d databases is not short", n, workers*each)
		}
	}
	t.Logf("%d commits, %d conflicts", e.commits.Load(), e.conflicts.Load())
	if e.conflicts.Load() > e.commits.Load()/5 {
		t.Errorf("%d of %d commits conflicted", e.conflicts.Load(), e.commits.Load())
	}
	windows := 0
	tx := e.Begin(faultkv.Forever(t.Context()))
	defer tx.Cancel()
	for _, row := range dump(t, tx) {
		if row.key[0] == int64(keyspace.PrefixWindows) && row.key[1] == int64(0) {
			windows++
		}
	}
	if windows > 3 { // the current one, the previous one, and one that a late transaction added to
		t.Errorf("%d windows are kept", windows)
	}
}

// In a store of format 1 databases keep their places, and their prefixes are not allocated again.
func TestPrefixes_upgrade(t *testing.T) {
	e := mustEngine(t)
	writeDeprecated(t, e, "old")
	for range 2 { // the second time there is nothing to do
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Database(t.Context(), "old")
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := feedOf(t, d, layer.ChangesOptions{}); len(rows) != 2 {
			t.Errorf("rows %v", rows)
		}
		for i := range 40 {
			name := fmt.Sprintf("new%d", i)
			mustCreate(t, s, name, layer.CreateOptions{})
			if n := prefixesOf(t, e)[name]; n <= 7 || n > 300 {
				t.Errorf("%s has the prefix %d", name, n)
			}
			if i%2 == 0 {
				if err := s.Delete(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 20 {
			if err := s.Delete(t.Context(), fmt.Sprintf("new%d", 2*i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	if version, err := tx.Get(tuple.Tuple{int64(keyspace.Format)}.Pack()).Wait(); err != nil ||
		string(version) != string(tuple.AppendInt(nil, keyspace.FormatVersion)) {
		t.Errorf("format %x, %v", version, err)
	}
}

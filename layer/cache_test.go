package layer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
)

// A full cache drops the least recently used entry for each new one.
func TestCache_evictsOne(t *testing.T) {
	const most = 100
	c := layer.NewCache(most)
	loads := 0
	get := func(i int) {
		t.Helper()
		n, err := c.Get(t.Context(), fmt.Sprint(i), func() (int, error) {
			loads++
			return i, nil
		})
		if n != i || err != nil {
			t.Fatal(n, err)
		}
	}
	for i := range most {
		get(i)
	}
	get(0) // use it again
	get(most)
	if loads != most+1 {
		t.Fatalf("%d loads of %d entries", loads, most+1)
	}
	for i := range most + 1 {
		if i != 1 { // the dropped one
			get(i)
		}
	}
	if loads != most+1 {
		t.Errorf("one entry over the limit cost %d loads", loads-most-1)
	}
	if get(1); loads != most+2 {
		t.Errorf("the cache exceeds its limit")
	}
}

// Concurrent callers for the same entry share one load, and all get its error if the entry itself is invalid.
func TestFlights_once(t *testing.T) {
	for name, wrong := range map[string]error{
		"loaded":  nil,
		"invalid": &layer.Error{Kind: layer.Invalid, Reason: "does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f layer.Flights
				var all sync.WaitGroup
				loads, loaded := 0, make(chan struct{})
				for range 10 {
					all.Go(func() {
						n, err := f.Do(t.Context(), "a", func() (int, error) {
							loads++
							<-loaded
							return 7, wrong
						})
						if !errors.Is(err, wrong) || err == nil && n != 7 {
							t.Error(n, err)
						}
					})
				}
				synctest.Wait()
				close(loaded)
				all.Wait()
				if loads != 1 {
					t.Errorf("%d loads", loads)
				}
			})
		})
	}
}

// The cancellation of the caller that loads, and a failed load, do not affect the callers that wait for it.
func TestFlights_failure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f layer.Flights
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := f.Do(ctx, "a", func() (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		loads := 0
		for range 10 {
			all.Go(func() {
				n, err := f.Do(t.Context(), "a", func() (int, error) {
					loads++
					return 7, nil
				})
				if n != 7 || err != nil {
					t.Error(n, err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := f.Do(gone, "a", func() (int, error) { return 0, nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled caller got %v", err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		cancel()
		all.Wait()
		if loads == 0 {
			t.Error("it was not loaded")
		}
	})
}

// Design documents are not read again when they are used in turn, even if there are more of them than an earlier cache
// had room for.
func TestDatabase_Design_manyInTurn(t *testing.T) {
	e := &countingEngine{Engine: mustEngine(t)}
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	const designs = 300
	for i := range designs {
		put(t, d, fmt.Sprintf(`{"_id": "_design/d%d", "language": "other"}`, i))
	}
	read := func() (bodies int) {
		for i := range designs {
			if _, err := d.Design(t.Context(), fmt.Sprintf("d%d", i)); err != nil {
				t.Fatal(err)
			}
			e.mu.Lock()
			bodies += e.counts.reads[keyspace.Documents]
			e.mu.Unlock()
		}
		return bodies
	}
	if n := read(); n == 0 {
		t.Fatal("no reads are counted")
	}
	if n := read(); n != 0 {
		t.Errorf("%d bodies of design documents were read again", n)
	}
}

// Unused databases are dropped from memory, the least recently used first. A database in use stays.
func TestStore_Database_bounded(t *testing.T) {
	e := mustEngine(t)
	made := mustStore(t, e, layer.Options{})
	const databases, kept = 50, 10
	for i := range databases {
		mustCreate(t, made, fmt.Sprintf("db%d", i), layer.CreateOptions{})
	}
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	layer.KeepDatabases(s, kept)
	open := func(i int) *layer.Database {
		t.Helper()
		d, err := s.Database(t.Context(), fmt.Sprintf("db%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return d.Shared()
	}
	used := open(0)
	for i := range databases {
		open(i)
	}
	for layer.KnownDatabases(s) > kept+1 { // the garbage collector has to notice that they are unused
		runtime.GC()
		runtime.Gosched()
	}
	if open(0) != used {
		t.Error("a database in use was dropped from memory")
	}
	runtime.KeepAlive(used)
}

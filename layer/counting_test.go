package layer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// countingEngine counts the operations of transactions by subspace, as FoundationDB sees them. A round trip begins with
// a read that was issued after waiting for an answer; reads issued together share one.
type countingEngine struct {
	kv.Engine
	begun  atomic.Int64 // transactions
	mu     sync.Mutex
	counts opCounts
}

// opCounts are the totals of the operations of one transaction.
type opCounts struct {
	// KVs read by key or in ranges, sets (including versionstamped ones), clears
	reads, sets, clears map[keyspace.Subspace]int
	ranges              []kv.RangeOptions // of Revisions
	metadata            int               // reads of the metadata version, which comes with the read version
	roundTrips          int
	waited              bool // since the last read was issued
}

func (c *countingEngine) Begin(ctx context.Context) kv.Transaction {
	c.begun.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = opCounts{reads: map[keyspace.Subspace]int{}, sets: map[keyspace.Subspace]int{},
		clears: map[keyspace.Subspace]int{}, waited: true}
	return &countingTransaction{c.Engine.Begin(ctx), c}
}

func (c *countingEngine) issued() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts.waited {
		c.counts.roundTrips++
		c.counts.waited = false
	}
}

func (c *countingEngine) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.waited = true
}

func (c *countingEngine) note(which func(*opCounts) map[keyspace.Subspace]int, key []byte) {
	if string(key) == kv.MetadataVersionKey {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts.metadata++
		return
	}
	t, err := tuple.Unpack(key)
	if err != nil || len(t) < 3 || t[0] != int64(keyspace.Data) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	which(&c.counts)[keyspace.Subspace(t[2].(int64))]++
}

func reads(c *opCounts) map[keyspace.Subspace]int  { return c.reads }
func sets(c *opCounts) map[keyspace.Subspace]int   { return c.sets }
func clears(c *opCounts) map[keyspace.Subspace]int { return c.clears }

type countingTransaction struct {
	kv.Transaction
	c *countingEngine
}

func (t *countingTransaction) Snapshot() kv.Reader {
	return countingReader{t.Transaction.Snapshot(), t.c}
}
func (t *countingTransaction) Get(key []byte) kv.Future[[]byte] {
	return countingReader{t.Transaction, t.c}.Get(key)
}
func (t *countingTransaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return countingReader{t.Transaction, t.c}.GetRange(r, o)
}
func (t *countingTransaction) Set(key, value []byte) {
	t.c.note(sets, key)
	t.Transaction.Set(key, value)
}
func (t *countingTransaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.c.note(sets, key)
	t.Transaction.SetVersionstampedKey(key, offset, value)
}
func (t *countingTransaction) SetVersionstampedValue(key, value []byte, offset int) {
	t.c.note(sets, key)
	t.Transaction.SetVersionstampedValue(key, value, offset)
}
func (t *countingTransaction) Clear(key []byte) {
	t.c.note(clears, key)
	t.Transaction.Clear(key)
}

type countingReader struct {
	kv.Reader
	c *countingEngine
}

func (r countingReader) Get(key []byte) kv.Future[[]byte] {
	r.c.issued()
	r.c.note(reads, key)
	return countingFuture[[]byte]{r.Reader.Get(key), r.c}
}

func (r countingReader) GetRange(rg kv.Range, o kv.RangeOptions) kv.RangeIterator {
	r.c.issued()
	begin, _ := rg.Selectors()
	if t, err := tuple.Unpack(begin.Key[:len(begin.Key)-1]); err == nil && len(t) >= 3 &&
		t[2] == int64(keyspace.Revisions) {
		r.c.mu.Lock()
		r.c.counts.ranges = append(r.c.counts.ranges, o)
		r.c.mu.Unlock()
	}
	return &countingRows{r.Reader.GetRange(rg, o), r.c}
}

type countingFuture[T any] struct {
	kv.Future[T]
	c *countingEngine
}

func (f countingFuture[T]) Wait() (T, error) {
	defer f.c.answered()
	return f.Future.Wait()
}

type countingRows struct {
	kv.RangeIterator
	c *countingEngine
}

func (r *countingRows) Next() bool {
	defer r.c.answered()
	if !r.RangeIterator.Next() {
		return false
	}
	r.c.note(reads, r.KeyValue().Key)
	return true
}

// The operation counts of R3 (rfc-001, summary of the performance profile) and C1. Checking that the database exists
// and that its configuration is unchanged costs nothing, because the metadata version comes with the read version.
func TestOperationCounts(t *testing.T) {
	oneGoroutine(t)
	leaf := func(ids string) string {
		return fmt.Sprintf(`{"_id":"x","_revisions":{"start":%d,"ids":[%s]}}`, 1+strings.Count(ids, ","), ids)
	}
	three := []string{leaf(`"a","r"`), leaf(`"b","r"`), leaf(`"c","r"`)}
	behind := []string{leaf(`"a","r"`), leaf(`"w","v","u","r"`)} // the winner is far ahead
	tombstone := func(ids string) string { return strings.Replace(leaf(ids), "{", `{"_deleted":true,`, 1) }
	// Of the revisions: KVs read, round trips of the whole transaction, KVs set and cleared. Of the feed: entries
	// cleared and set. If a document has several branches, an interactive edit needs a round trip of its own to check
	// whether the body of the new revision exists already. It cannot check before it knows the name of the revision,
	// and without the check a branch would be counted twice (txn.lookForAdded).
	type counts struct{ reads, trips, set, cleared, entriesCleared, entriesSet int }
	for _, c := range []struct {
		name       string
		before     []string // replicated
		edit       string
		replicated bool
		want       counts
	}{
		{"insert", nil, `{"_id":"x"}`, false, counts{0, 1, 1, 0, 0, 1}},
		{"extend winner", three, `{"_id":"x","_rev":"2-c"}`, false, counts{1, 2, 1, 1, 1, 1}},
		{"extend the only branch", three[:1], `{"_id":"x","_rev":"2-a"}`, false, counts{1, 1, 1, 1, 1, 1}},
		{"delete winner", three, `{"_id":"x","_rev":"2-c","_deleted":true}`, false, counts{2, 2, 2, 1, 1, 1}},
		{"delete the only branch", three[:1], `{"_id":"x","_rev":"2-a","_deleted":true}`, false,
			counts{1, 1, 1, 1, 1, 1}},
		{"delete the only live branch", append([]string{tombstone(`"d","r"`)}, three[0]),
			`{"_id":"x","_rev":"2-a","_deleted":true}`, false, counts{2, 2, 1, 1, 1, 1}},
		{"extend a losing branch, which wins", three, `{"_id":"x","_rev":"2-a"}`, false, counts{2, 3, 2, 1, 1, 1}},
		{"extend a losing branch, which loses", behind, `{"_id":"x","_rev":"2-a"}`, false, counts{2, 3, 2, 1, 1, 1}},
		{"delete the second branch", three, `{"_id":"x","_rev":"2-b","_deleted":true}`, false,
			counts{2, 2, 2, 1, 1, 1}},
		{"delete the third branch", three, `{"_id":"x","_rev":"2-a","_deleted":true}`, false, counts{3, 3, 2, 1, 1, 1}},
		{"recreate", []string{tombstone(`"a","r"`)}, `{"_id":"x"}`, false, counts{1, 1, 1, 1, 1, 1}},
		{"recreate over two", []string{tombstone(`"a","r"`), tombstone(`"b","r"`)}, `{"_id":"x"}`, false,
			counts{1, 2, 1, 1, 1, 1}},
		{"conflict", three[:1], `{"_id":"x","_rev":"1-r"}`, false, counts{1, 1, 0, 0, 0, 0}},
		{"conflict of an insert", three, `{"_id":"x"}`, false, counts{1, 1, 0, 0, 0, 0}},
		{"conflict with a deleted leaf", []string{tombstone(`"a","r"`)}, `{"_id":"x","_rev":"2-a"}`, false,
			counts{1, 1, 0, 0, 0, 0}},
		{"replicated, new", nil, three[0], true, counts{0, 1, 1, 0, 0, 1}},
		{"replicated, a new winner", three, leaf(`"d","r"`), true, counts{3, 1, 2, 0, 1, 1}},
		{"replicated, a new loser", three, leaf(`"aa","r"`), true, counts{3, 1, 2, 0, 1, 1}},
		{"replicated, extends the winner", three, leaf(`"e","d","c","r"`), true, counts{3, 1, 1, 1, 1, 1}},
		{"replicated, extends a loser", behind, leaf(`"e","a","r"`), true, counts{2, 1, 2, 1, 1, 1}},
		{"replicated, tombstone onto the winner", three, tombstone(`"e","c","r"`), true, counts{3, 1, 2, 1, 1, 1}},
		{"replicated, tombstone onto the only branch", three[:1], tombstone(`"e","a","r"`), true,
			counts{1, 1, 1, 1, 1, 1}},
		{"replicated, known", three[:1], three[0], true, counts{1, 1, 0, 0, 0, 0}},
		// It checks whether the ancestor's body exists, and stores it otherwise.
		{"replicated, known ancestor", three[:1], leaf(`"r"`), true, counts{1, 2, 0, 0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &countingEngine{Engine: mustEngine(t)}
			s, err := layer.Open(t.Context(), e, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			d := mustCreate(t, s, "db", layer.CreateOptions{})
			for _, b := range c.before {
				push(t, d, b)
			}
			if _, err := d.LastSeq(t.Context()); err != nil { // the configuration is cached from now on
				t.Fatal(err)
			}
			if err := s.Close(); err != nil { // no background transactions while counting
				t.Fatal(err)
			}
			ed := edit(t, c.edit)
			if c.replicated {
				ed = replicated(t, c.edit)
			}
			_, err = d.Put(t.Context(), ed, layer.WriteOptions{Replicated: c.replicated})
			if err != nil && !strings.HasPrefix(c.name, "conflict") {
				t.Fatal(err)
			}
			n := e.counts
			got := counts{n.reads[keyspace.Revisions], n.roundTrips, n.sets[keyspace.Revisions],
				n.clears[keyspace.Revisions], n.clears[keyspace.Changes], n.sets[keyspace.Changes]}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			bodies := 0
			if c.name == "replicated, known ancestor" || !c.replicated && len(c.before) > 1 &&
				c.want.entriesSet > 0 {
				bodies = 1
			}
			if n.metadata != 1 || n.reads[keyspace.Stamp] != 0 || n.reads[keyspace.Changes] != 0 ||
				n.reads[keyspace.Documents] != bodies || n.reads[keyspace.Config] != 0 {
				t.Errorf("other reads: %v", n.reads)
			}
			if c.name == "insert" &&
				(len(n.ranges) != 1 || n.ranges[0] != kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact}) {
				t.Errorf("an insert reads %+v", n.ranges)
			}
		})
	}
	t.Run("bulk of inserts", func(t *testing.T) {
		e := &countingEngine{Engine: mustEngine(t)}
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := mustCreate(t, s, "db", layer.CreateOptions{})
		put(t, d, `{"_id":"x"}`)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fill(t, d, 300)
		if e.counts.roundTrips != 1 || e.counts.sets[keyspace.Changes] != 300 || e.counts.sets[keyspace.Wake] != 1 ||
			e.counts.sets[keyspace.Stamp] != 0 {
			t.Errorf("%+v", e.counts)
		}
	})
	t.Run("read", func(t *testing.T) {
		e := &countingEngine{Engine: mustEngine(t)}
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := mustCreate(t, s, "db", layer.CreateOptions{})
		put(t, d, `{"_id":"x"}`)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		get(t, d, "x", layer.GetOptions{})
		if e.counts.reads[keyspace.Revisions] != 0 || e.counts.roundTrips != 2 { // R7
			t.Errorf("%+v", e.counts)
		}
	})
	t.Run("after a change elsewhere", func(t *testing.T) {
		e := &countingEngine{Engine: mustEngine(t)}
		s, err := layer.Open(t.Context(), e, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, other := mustCreate(t, s, "db", layer.CreateOptions{}), mustCreate(t, s, "other", layer.CreateOptions{})
		put(t, d, `{"_id":"x"}`)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := other.SetRevsLimit(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{1, 0, 0} { // the stamp is read once, and the configuration never
			put(t, d, fmt.Sprintf(`{"_id":"y%d"}`, i))
			if n := e.counts.reads; n[keyspace.Stamp] != want || n[keyspace.Config] != 0 {
				t.Errorf("write %d reads %v, want the stamp %d times", i, n, want)
			}
		}
	})
}

// A change by one node is seen by the next transaction of another node that has the old state cached: settings, shards,
// a deletion, a database with the same name.
func TestCache_otherNode(t *testing.T) {
	e := mustEngine(t)
	there := mustStore(t, e, layer.Options{})
	here, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	mustCreate(t, there, "db", layer.CreateOptions{})
	open := func() *layer.Database {
		d, err := here.Database(t.Context(), "db")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	cached := open()
	put(t, cached, `{"_id":"x"}`)
	remote, err := there.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	for limit := 2; limit < 5; limit++ {
		if err := remote.SetRevsLimit(t.Context(), limit); err != nil {
			t.Fatal(err)
		}
		if n, err := cached.RevsLimit(t.Context()); n != limit || err != nil {
			t.Errorf("revs_limit %d, %v, want %d", n, err, limit)
		}
	}
	if _, err := remote.Reshard(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	put(t, cached, `{"_id":"y"}`) // checkStore finds an entry in a replaced shard
	if err := there.Delete(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	_, err = cached.Put(t.Context(), edit(t, `{"_id":"z"}`), layer.WriteOptions{})
	wantKind(t, err, layer.NotFound)
	fresh := mustCreate(t, there, "db", layer.CreateOptions{})
	_, err = cached.Put(t.Context(), edit(t, `{"_id":"z"}`), layer.WriteOptions{})
	wantKind(t, err, layer.NotFound)
	put(t, open(), `{"_id":"w"}`)
	if got := get(t, fresh, "w", layer.GetOptions{}); got == "missing" {
		t.Error("the write is not in the database that has the name now")
	}
}

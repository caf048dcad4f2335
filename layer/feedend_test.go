package layer_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// oldReads is an engine without snapshots. Its transactions can be made too old at the next body that a feed reads, or
// between the chunks of a _local document, as happens after five seconds.
type oldReads struct {
	kv.Engine
	before atomic.Pointer[func()] // called before the body read that fails
	chunk  atomic.Pointer[func()] // called before the second row of a read of _local documents, which fails
}

func (e *oldReads) Begin(ctx context.Context) kv.Transaction {
	return oldTransaction{e.Engine.Begin(ctx), e}
}

type oldTransaction struct {
	kv.Transaction
	e *oldReads
}

func (t oldTransaction) Snapshot() kv.Reader { return oldReader{t.Transaction.Snapshot(), t.e} }

type oldReader struct {
	kv.Reader
	e *oldReads
}

func (r oldReader) Get(key []byte) kv.Future[[]byte] {
	if t, err := tuple.Unpack(key); err == nil && len(t) > 2 && t[0] == int64(keyspace.Data) &&
		t[2] == int64(keyspace.Documents) {
		return oldBody{r.Reader.Get(key), r.e}
	}
	return r.Reader.Get(key)
}

type oldBody struct {
	kv.Future[[]byte]
	e *oldReads
}

// Wait fails the first time. A read that is cancelled earlier, because another one failed, does not count.
func (b oldBody) Wait() ([]byte, error) {
	before := b.e.before.Swap(nil)
	if before == nil {
		return b.Future.Wait()
	}
	(*before)()
	return nil, kv.NewError(kv.CodeTooOld, "read for too long", nil)
}

// C6: if the body of a pass's last row is read in a newer transaction than the row, the pass does not end at that
// transaction's sequence, because it lacks the entries up to it.
func TestChanges_newerBody(t *testing.T) {
	e := &oldReads{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	put(t, d, `{"_id":"a"}`)
	for name, limit := range map[string]int{"all": -1, "limited": 1000} {
		t.Run(name, func(t *testing.T) {
			id := "late " + name
			write := func() { put(t, d, `{"_id":"`+id+`"}`) }
			e.before.Store(&write)
			seen := map[string]bool{}
			for last := (layer.Seq{}); !seen[id]; {
				pass, err := d.Changes(t.Context(), layer.ChangesOptions{Since: last, IncludeDocs: true, Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				for c, err := range pass.Rows {
					if err != nil {
						t.Fatal(err)
					}
					seen[c.ID] = true
				}
				if last = pass.LastSeq(); e.before.Load() != nil {
					t.Fatal("no body was read")
				}
				if now, err := d.LastSeq(t.Context()); err != nil || now == last && !seen[id] {
					t.Fatalf("the pass ended at %s without what was written there, %v", last, err)
				}
			}
		})
	}
}

func (r oldReader) GetRange(keys kv.Range, o kv.RangeOptions) kv.RangeIterator {
	rows := r.Reader.GetRange(keys, o)
	begin, _ := keys.Selectors()
	t, err := tuple.Unpack(bytes.TrimSuffix(begin.Key, []byte{0}))
	if err == nil && len(t) > 2 && t[0] == int64(keyspace.Data) && t[2] == int64(keyspace.Local) {
		return &oldRows{RangeIterator: rows, e: r.e}
	}
	return rows
}

type oldRows struct {
	kv.RangeIterator
	e   *oldReads
	n   int
	err error
}

func (r *oldRows) Next() bool {
	if r.n++; r.n == 2 {
		if change := r.e.chunk.Swap(nil); change != nil {
			(*change)()
			r.err = kv.NewError(kv.CodeTooOld, "read for too long", nil)
		}
	}
	return r.err == nil && r.RangeIterator.Next()
}

func (r *oldRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}

// A _local document that changes while its chunks are read in two transactions is returned in its old or its new state.
func TestLocalDocuments_changedBetweenChunks(t *testing.T) {
	e := &oldReads{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	text := func(c string, n int) string {
		return `{"_id":"_local/a","b":"` + strings.Repeat(c, n) + `"}`
	}
	write := func(doc string) {
		if _, err := d.PutLocal(t.Context(), edit(t, doc)); err != nil {
			t.Error(err)
		}
	}
	for name, after := range map[string]string{"shorter": text("y", 10), "as long": text("y", 250_000),
		"longer": text("y", 450_000), "deleted": `{"_id":"_local/a","_deleted":true}`} {
		for _, o := range []layer.AllDocsOptions{{}, {Descending: true}, {Keys: []string{"_local/a"}}} {
			write(text("x", 250_000))
			write(`{"_id":"_local/b"}`)
			change := func() { write(after) }
			e.chunk.Store(&change)
			o.Only, o.IncludeDocs, o.Limit = layer.LocalOnly, true, -1
			res, err := d.AllDocs(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for row, err := range res.Rows {
				if err != nil {
					t.Fatalf("%s, %+v: %v", name, o, err)
				}
				if row.Doc == nil || row.ID != "_local/a" {
					continue
				}
				if got := string(row.Doc.Body); strings.Contains(got, "x") && strings.Contains(got, "y") ||
					!strings.HasSuffix(got, `"}`) {
					t.Errorf("%s, %+v: read %d bytes, %.20s to %s", name, o, len(got), got, got[len(got)-5:])
				}
			}
			if o.Descending == false && o.Keys == nil && e.chunk.Load() != nil {
				t.Errorf("%s: nothing was changed", name)
			}
			e.chunk.Store(nil)
		}
	}
}

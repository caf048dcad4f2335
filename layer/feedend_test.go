package layer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// oldReads is an engine without snapshots whose transactions can be made too old for the next body that a feed reads, as happens after five seconds.
type oldReads struct {
	kv.Engine
	before atomic.Pointer[func()] // runs before the body read that fails
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
	if t, err := tuple.Unpack(key); err == nil && len(t) > 2 && t[0] == int64(keyspace.Data) && t[2] == int64(keyspace.Documents) {
		if before := r.e.before.Swap(nil); before != nil {
			return oldBody{r.Reader.Get(key), *before}
		}
	}
	return r.Reader.Get(key)
}

type oldBody struct {
	kv.Future[[]byte]
	before func()
}

func (b oldBody) Wait() ([]byte, error) {
	b.before()
	return nil, kv.NewError(kv.CodeTooOld, "read for too long", nil)
}

// C6: where the body of a pass's last row is read in a newer transaction than the row, the pass does not end at that transaction's sequence without
// the entries up to it.
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

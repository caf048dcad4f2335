package layer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// agesAt is an engine without snapshots. Among the transactions of one context, the one that makes the read with a
// given number becomes too old.
type agesAt struct {
	kv.Engine
	read   int
	before func() // called before that read
	reads  int
}

type ofQuery struct{}

func (e *agesAt) Begin(ctx context.Context) kv.Transaction {
	tx := e.Engine.Begin(ctx)
	if ctx.Value(ofQuery{}) == nil {
		return tx
	}
	return &agingTransaction{Transaction: tx, e: e}
}

type agingTransaction struct {
	kv.Transaction
	e   *agesAt
	old bool
}

func (t *agingTransaction) Snapshot() kv.Reader { return agingReader{t.Transaction.Snapshot(), t} }

type agingReader struct {
	kv.Reader
	tx *agingTransaction
}

func (r agingReader) Get(key []byte) kv.Future[[]byte] {
	e := r.tx.e
	if e.reads++; e.reads == e.read {
		e.before()
		r.tx.old = true
	}
	if r.tx.old {
		return tooOld{}
	}
	return r.Reader.Get(key)
}

type tooOld struct{}

func (tooOld) Wait() ([]byte, error) { return nil, kv.NewError(kv.CodeTooOld, "too old", nil) }

// The rows, their number and the offset are those of the sequence that an answer names, whichever of its first reads
// finds its transaction too old, and although the index has moved by then.
func TestQuery_oneSequence(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("it has its own faults")
	}
	engine := &agesAt{Engine: mustEngineWith(t, false)}
	db := mustCreate(t, openPartials(t, engine, 100), "db", layer.CreateOptions{})
	save(t, db, exactDesign)
	ix := db.Index(mustDesign(t, db, "d"))
	docs, at := 0, map[layer.Seq]int{} // number of documents by sequence
	engine.before = func() {
		docs++
		save(t, db, fmt.Sprintf(`{"_id":"%03d","n":[%d]}`, docs, docs))
		if ok, err := ix.CatchUp(t.Context(), 10); err != nil || !ok {
			t.Fatal(ok, err)
		}
		seq, err := db.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at[seq] = docs
	}
	build(t, ix, 1, 10)
	engine.before()
	moved := 0
	for engine.read = 1; ; engine.read++ {
		engine.reads = 0
		before := docs
		ctx := context.WithValue(t.Context(), ofQuery{}, true)
		result, err := ix.Query(ctx, layer.ViewQuery{View: "n", StartKey: []byte("2"), Limit: -1, WithOffset: true})
		if err != nil {
			t.Fatal(err)
		}
		if docs == before { // it made fewer reads
			break
		}
		moved++
		rows := 0
		for _, err := range result.Rows {
			if err != nil {
				t.Fatal(err)
			}
			rows++
		}
		want := at[result.UpdateSeq]
		if result.TotalRows != int64(want) || rows != want-1 || result.Offset != 1 {
			t.Errorf("too old at read %d: %d rows of %d after %d, want %d of %d after 1", engine.read, rows,
				result.TotalRows,
				result.Offset, want-1, want)
		}
	}
	if moved < 4 {
		t.Errorf("the query made %d reads", moved)
	}
}

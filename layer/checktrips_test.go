package layer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// distant is an engine in which every answer takes one round trip: its clock advances when a caller waits for an answer
// that has not arrived, so that concurrent reads take one. It does not support snapshots.
type distant struct {
	kv.Engine
	clock atomic.Int64
}

func (e *distant) Begin(ctx context.Context) kv.Transaction {
	return distantTransaction{e.Engine.Begin(ctx), e}
}

type distantTransaction struct {
	kv.Transaction
	e *distant
}

func (t distantTransaction) Snapshot() kv.Reader { return distantReader{t.Transaction.Snapshot(), t.e} }

type distantReader struct {
	kv.Reader
	e *distant
}

func (r distantReader) Get(key []byte) kv.Future[[]byte] {
	return distantFuture{r.Reader.Get(key), r.e.issue()}
}

func (r distantReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return distantRows{r.Reader.GetRange(in, o), r.e.issue()}
}

// answer is the time at which an answer arrives.
type answer struct {
	e  *distant
	at int64
}

func (e *distant) issue() answer { return answer{e, e.clock.Load() + 1} }

func (a answer) wait() {
	for now := a.e.clock.Load(); now < a.at && !a.e.clock.CompareAndSwap(now, a.at); now = a.e.clock.Load() {
	}
}

type distantFuture struct {
	kv.Future[[]byte]
	answer answer
}

func (f distantFuture) Wait() ([]byte, error) {
	f.answer.wait()
	return f.Future.Wait()
}

type distantRows struct {
	kv.RangeIterator
	answer answer
}

func (r distantRows) Next() bool {
	r.answer.wait()
	return r.RangeIterator.Next()
}

// The values that are compared with rows are read for many rows in one round trip. On a cluster, round trips take most
// of the time.
func TestVerify_roundTrips(t *testing.T) {
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("after a transaction that failed fewer are read together")
	}
	const docs = 1000
	e := &distant{Engine: mustEngine(t)}
	s := openViewStore(t, e)
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	put(t, d, `{"_id":"_design/v","views":{"n":{"map":"function(doc) { emit(doc.n, 1) }"},
		"m":{"map":"function(doc) { emit(-doc.n, doc.n); emit(doc._id) }"}}}`)
	var edits []layer.Edit
	for i := range docs {
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"doc%d","n":%d}`, i, i)))
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	build(t, d.Index(mustDesign(t, d, "v")), 1, docs)
	before := e.clock.Load()
	lines, err := verifyFew(t, s, 0)
	wantNoFaults(t, lines, err)
	if n := e.clock.Load() - before; n > docs {
		t.Errorf("%d documents take %d round trips", docs, n)
	}
}

package layer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// readBytes is an engine without snapshots that counts the bytes that its transactions read. If tooOld is not 0,
// transactions that read more cannot be committed. It is for one goroutine.
type readBytes struct {
	kv.Engine
	tooOld, largest, failed int
}

func (e *readBytes) Begin(ctx context.Context) kv.Transaction {
	return &readBytesTransaction{Transaction: e.Engine.Begin(ctx), e: e}
}

type readBytesTransaction struct {
	kv.Transaction
	e    *readBytes
	read int
}

func (t *readBytesTransaction) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &readBytesRange{t.Transaction.GetRange(in, o), t}
}

func (t *readBytesTransaction) Commit() error {
	t.e.largest = max(t.e.largest, t.read)
	if t.e.tooOld > 0 && t.read > t.e.tooOld {
		t.e.failed++
		return kv.NewError(kv.CodeTooOld, "it read too much", nil)
	}
	return t.Transaction.Commit()
}

type readBytesRange struct {
	kv.RangeIterator
	t *readBytesTransaction
}

func (r *readBytesRange) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		row := r.KeyValue()
		r.t.read += len(row.Key) + len(row.Value)
	}
	return more
}

// The transactions that aggregate the rows of a first build are limited in bytes, whatever the rows are. If they are
// too old all the same they become smaller, and stay so.
func TestBuild_Finish_bytes(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	for name, c := range map[string]struct{ tooOld, most int }{
		"all are committed":      {0, 1_100_000},
		"large ones are too old": {200_000, 1_100_000},
	} {
		t.Run(name, func(t *testing.T) {
			oneGoroutine(t)
			below := mustEngine(t)
			e := &readBytes{Engine: below}
			db := openAggregates(t, e, below, layer.CreateOptions{})
			const docs = 2000
			pad := strings.Repeat("x", 2000)
			for from := 0; from < docs; from += 500 {
				edits := make([]layer.Edit, 500)
				for i := range edits {
					edits[i].ID = fmt.Sprintf("%06d", from+i)
					edits[i].Body = fmt.Appendf(nil, `{"n":%d,"pad":%q}`, from+i, pad)
				}
				mustBulk(t, db, edits, layer.WriteOptions{})
			}
			save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, doc.pad) }",
				"reduce":"_count"}}}`)
			ix := db.Index(mustDesign(t, db, "d"))
			b, err := ix.StartBuild(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for done := false; !done; {
				r, err := b.Step(t.Context(), b.Shards[0], docs)
				if err != nil {
					t.Fatal(err)
				}
				done = r.Done
			}
			e.largest, e.tooOld = 0, c.tooOld
			if err := b.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if e.largest > c.most {
				t.Errorf("a transaction read %d bytes, want %d at most", e.largest, c.most)
			}
			if e.failed > 25 {
				t.Errorf("%d transactions were too old", e.failed)
			}
			e.tooOld, e.largest = 0, 0
			got := reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "n", Limit: -1}})
			if want := fmt.Sprintf("[null %d]", docs); fmt.Sprint(got) != want {
				t.Errorf("the count is %v, want %s", got, want)
			}
			if e.largest > 200_000 {
				t.Errorf("the count read %d bytes", e.largest)
			}
		})
	}
}

package layer_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// meter records the most bytes that one transaction has read, the total, and the number of transactions. It does not
// support snapshots.
type meter struct {
	kv.Engine
	most, bytes, transactions, old atomic.Int64
}

func (m *meter) Begin(ctx context.Context) kv.Transaction {
	m.transactions.Add(1)
	return &metered{Transaction: m.Engine.Begin(ctx), m: m}
}

func (m *meter) forget() {
	for _, n := range []*atomic.Int64{&m.most, &m.bytes, &m.transactions, &m.old} {
		n.Store(0)
	}
}

type metered struct {
	kv.Transaction
	m    *meter
	read atomic.Int64
}

func (t *metered) count(n int) {
	t.m.bytes.Add(int64(n))
	if sum := t.read.Add(int64(n)); sum > t.m.most.Load() {
		t.m.most.Store(sum)
	}
}

func (t *metered) Commit() error {
	err := t.Transaction.Commit()
	if kv.IsCode(err, kv.CodeTooOld) {
		t.m.old.Add(1)
	}
	return err
}

func (t *metered) Get(key []byte) kv.Future[[]byte] { return meteredReader{t.Transaction, t}.Get(key) }
func (t *metered) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return meteredReader{t.Transaction, t}.GetRange(r, o)
}
func (t *metered) Snapshot() kv.Reader { return meteredReader{t.Transaction.Snapshot(), t} }

type meteredReader struct {
	kv.Reader
	t *metered
}

func (r meteredReader) Get(key []byte) kv.Future[[]byte] {
	f := r.Reader.Get(key)
	value, err := f.Wait()
	if err == nil {
		r.t.count(len(value))
	}
	return f
}

func (r meteredReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &meteredRows{r.Reader.GetRange(in, o), r.t}
}

type meteredRows struct {
	kv.RangeIterator
	t *metered
}

func (r *meteredRows) Next() bool {
	if !r.RangeIterator.Next() {
		return false
	}
	row := r.RangeIterator.KeyValue()
	r.t.count(len(row.Key) + len(row.Value))
	return true
}

// branchy writes documents with the given number of branches, each with a history of depth revisions. It returns an
// edit for each document that adds a branch.
func branchy(t *testing.T, d *layer.Database, docs, branches, depth int) (more []layer.Edit) {
	t.Helper()
	// A zero byte takes two bytes in a tuple.
	hash := func(n int) string { return strings.ReplaceAll(fmt.Sprintf("%032d", n), "0", "f") }
	var stem []layer.Rev
	for pos := depth; pos > 0; pos-- {
		stem = append(stem, layer.Rev{Pos: int64(pos), ID: hash(pos)})
	}
	leaf := func(doc, i int) layer.Edit {
		return layer.Edit{ID: fmt.Sprintf("doc%04d", doc),
			Rev: layer.Rev{Pos: int64(depth + 1), ID: hash(1_000_000 + i)}, Ancestors: stem}
	}
	for doc := range docs {
		edits := make([]layer.Edit, branches)
		for i := range edits {
			edits[i] = leaf(doc, i)
		}
		mustBulk(t, d, edits, layer.WriteOptions{Replicated: true})
		more = append(more, leaf(doc, branches))
	}
	return more
}

func mustBulk(t *testing.T, d *layer.Database, edits []layer.Edit, o layer.WriteOptions) []layer.EditResult {
	t.Helper()
	results, err := d.Bulk(t.Context(), edits, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", r.ID, r.Err)
		}
	}
	return results
}

// openFar opens the database db as another node does, with an empty cache of trees.
func openFar(t *testing.T, e kv.Engine) *layer.Database {
	t.Helper()
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := s.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Replicated edits of documents with many branches are divided by the bytes that must be read for them, before a
// transaction becomes too old.
func TestBulk_dividedByReads(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("it counts transactions")
	}
	below := mustEngine(t)
	d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{})
	const docs, branches, depth = 40, 30, 900
	more := branchy(t, d, docs, branches, depth)

	const document = branches * (depth*17 + 100) // bytes of its branches
	m := &meter{Engine: faultkv.WithLife(below, 50*time.Millisecond)}
	far := openFar(t, m)
	m.forget()
	mustBulk(t, far, more, layer.WriteOptions{Replicated: true})
	t.Logf("%d transactions, %d too old; %d bytes read, %d at most in one", m.transactions.Load(), m.old.Load(),
		m.bytes.Load(), m.most.Load())
	if m.old.Load() > 0 {
		t.Errorf("%d transactions were too old", m.old.Load())
	}
	if limit := int64(layer.ReadBudget + 3*document); m.most.Load() > limit {
		t.Errorf("a transaction has read %d bytes, more than %d", m.most.Load(), limit)
	}
	if limit := int64(docs*document) * 3 / 2; m.bytes.Load() > limit {
		t.Errorf("%d bytes were read, more than %d", m.bytes.Load(), limit)
	}
	for _, e := range []layer.Edit{more[0], more[docs-1]} {
		if leaves, err := d.OpenRevs(t.Context(), e.ID, nil, layer.GetOptions{}); err != nil ||
			len(leaves) != branches+1 {
			t.Errorf("%s has %d leaves, %v", e.ID, len(leaves), err)
		}
	}
}

// Bodies of parents, which are read for an edit that keeps attachments, are also divided by their bytes.
func TestBulk_dividedByBodies(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("it counts bytes")
	}
	m := &meter{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, m, layer.Options{}), "db", layer.CreateOptions{})
	const docs, size = 20, 1_000_000
	var edits []layer.Edit
	for i := range docs {
		edits = append(edits,
			layer.Edit{ID: fmt.Sprint("doc", i), Body: []byte(`{"x":"` + strings.Repeat("x", size) + `"}`)})
	}
	for i, r := range mustBulk(t, d, edits, layer.WriteOptions{}) {
		edits[i] = layer.Edit{ID: r.ID, Rev: r.Rev, KeepAttachments: true, Body: []byte(`{}`)}
	}
	m.forget()
	mustBulk(t, d, edits, layer.WriteOptions{})
	if limit := int64(layer.ReadBudget + 5*size); m.most.Load() > limit {
		t.Errorf("a transaction has read %d bytes, more than %d", m.most.Load(), limit)
	}
}

// An edit that alone exceeds the limits of a transaction is refused with a reason, and the others are written.
func TestBulk_cannotBeDivided(t *testing.T) {
	oneGoroutine(t)
	below := mustEngine(t)
	d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{})
	huge := branchy(t, d, 1, 1000, 2)[0]
	far := openFar(t, faultkv.WithLife(withoutSnapshots{below}, 2*time.Millisecond))
	_, err := far.Put(t.Context(), huge, layer.WriteOptions{Replicated: true})
	if layer.KindOf(err) != layer.Unavailable || !strings.Contains(err.Error(), "transaction_too_long") ||
		kv.MaybeCommitted(err) {
		t.Errorf("alone: %v", err)
	}
	edits := []layer.Edit{huge}
	for i := range 20 {
		edits = append(edits, layer.Edit{ID: fmt.Sprint("small", i), Rev: layer.Rev{Pos: 1, ID: "a"}})
	}
	results, err := far.Bulk(t.Context(), edits, layer.WriteOptions{Replicated: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if refused := i == 0; refused != (layer.KindOf(r.Err) == layer.Unavailable) || !refused && r.Err != nil {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
	if _, err := far.Bulk(t.Context(), edits,
		layer.WriteOptions{Replicated: true, Atomic: true}); layer.KindOf(err) != layer.Unavailable {
		t.Errorf("all or none: %v", err)
	}
	// The same on engines with a longer time limit of transactions.
	if _, err := d.Put(t.Context(), huge, layer.WriteOptions{Replicated: true}); err != nil {
		t.Error(err)
	}
}

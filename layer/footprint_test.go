package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// footprint is what the transactions committed since the last call of take have written, and what they have read with
// conflict ranges.
type footprint struct {
	reads, writes []kv.KeyRange
	writeCounts
}

// writeCounts is the cost of writes to a store. Bytes are those of keys, values and operands.
type writeCounts struct {
	reads         int // requested rows and single keys
	sets          int
	setBytes      int
	cleared       int // keys
	clearedRanges int
	clearBytes    int
	atomics       int
	atomicBytes   int
}

// footprintEngine records footprints. A versionstamp in a key counts as the highest.
type footprintEngine struct {
	kv.Engine
	mu    sync.Mutex
	noted footprint
}

func (e *footprintEngine) take() footprint {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.noted
	e.noted = footprint{}
	return f
}

func (e *footprintEngine) Begin(ctx context.Context) kv.Transaction {
	return &footprintTransaction{Transaction: e.Engine.Begin(ctx), e: e}
}

type footprintTransaction struct {
	kv.Transaction
	e *footprintEngine
	f footprint
}

func keyRange(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: bytes.Clone(key), End: append(bytes.Clone(key), 0)}
}

func (t *footprintTransaction) Commit() error {
	err := t.Transaction.Commit()
	if err == nil {
		t.e.mu.Lock()
		defer t.e.mu.Unlock()
		n := &t.e.noted
		n.reads, n.writes = append(n.reads, t.f.reads...), append(n.writes, t.f.writes...)
		n.add(t.f.writeCounts)
	}
	return err
}

func (c *writeCounts) add(o writeCounts) {
	c.reads += o.reads
	c.sets += o.sets
	c.setBytes += o.setBytes
	c.cleared += o.cleared
	c.clearedRanges += o.clearedRanges
	c.clearBytes += o.clearBytes
	c.atomics += o.atomics
	c.atomicBytes += o.atomicBytes
}

func (t *footprintTransaction) set(key, value []byte) {
	t.f.writes = append(t.f.writes, keyRange(key))
	t.f.sets++
	t.f.setBytes += len(key) + len(value)
}

func (t *footprintTransaction) Set(key, value []byte) {
	t.set(key, value)
	t.Transaction.Set(key, value)
}

func (t *footprintTransaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.set(key, value)
	t.Transaction.SetVersionstampedKey(key, offset, value)
}

func (t *footprintTransaction) SetVersionstampedValue(key, value []byte, offset int) {
	t.set(key, value)
	t.Transaction.SetVersionstampedValue(key, value, offset)
}

func (t *footprintTransaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.f.writes = append(t.f.writes, keyRange(key))
	t.f.atomics++
	t.f.atomicBytes += len(key) + len(operand)
	t.Transaction.Atomic(op, key, operand)
}

func (t *footprintTransaction) Clear(key []byte) {
	t.f.writes = append(t.f.writes, keyRange(key))
	t.f.cleared++
	t.f.clearBytes += len(key)
	t.Transaction.Clear(key)
}

func (t *footprintTransaction) ClearRange(r kv.KeyRange) {
	t.f.writes = append(t.f.writes, kv.KeyRange{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)})
	t.f.clearedRanges++
	t.f.clearBytes += len(r.Begin) + len(r.End)
	t.Transaction.ClearRange(r)
}

func (t *footprintTransaction) AddWriteConflict(r kv.KeyRange) {
	t.f.writes = append(t.f.writes, kv.KeyRange{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)})
	t.Transaction.AddWriteConflict(r)
}

func (t *footprintTransaction) AddReadConflict(r kv.KeyRange) {
	t.f.reads = append(t.f.reads, kv.KeyRange{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)})
	t.Transaction.AddReadConflict(r)
}

func (t *footprintTransaction) Get(key []byte) kv.Future[[]byte] {
	t.f.reads = append(t.f.reads, keyRange(key))
	t.f.writeCounts.reads++
	return t.Transaction.Get(key)
}

func (t *footprintTransaction) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	begin, end := in.Selectors()
	t.f.reads = append(t.f.reads, kv.KeyRange{Begin: bytes.Clone(begin.Key), End: bytes.Clone(end.Key)})
	return &footprintRows{t.Transaction.GetRange(in, o), t}
}

func (t *footprintTransaction) Snapshot() kv.Reader {
	return footprintSnapshot{t.Transaction.Snapshot(), t}
}

type footprintSnapshot struct {
	kv.Reader
	t *footprintTransaction
}

func (s footprintSnapshot) Get(key []byte) kv.Future[[]byte] {
	s.t.f.writeCounts.reads++
	return s.Reader.Get(key)
}

func (s footprintSnapshot) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &footprintRows{s.Reader.GetRange(in, o), s.t}
}

type footprintRows struct {
	kv.RangeIterator
	t *footprintTransaction
}

func (r *footprintRows) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		r.t.f.writeCounts.reads++
	}
	return more
}

// TestOperationCounts_written checks the cost of writes in keys and bytes. A lower number is an improvement; a higher
// one needs a reason.
//
//	                     an insert   an update
//	keys set             6           7: revision, body, entry, list, wake key, transaction id; superseded body
//	keys cleared         0           2: revision, entry
//	counters added to    2           5: of documents, bodies; of superseded ones, and three that count entries of the
//	feed
func TestOperationCounts_written(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("attempts are counted")
	}
	const leaf = `{"_id":"doc-000","_rev":"%s","name":"somebody","country":"NO"}`
	bulk := func(d *layer.Database, revs []layer.Rev) []layer.Rev {
		edits := make([]layer.Edit, 100)
		for i := range edits {
			edits[i] = edit(t, fmt.Sprintf(`{"_id":"doc-%03d","name":"somebody","country":"NO"}`, i))
			if revs != nil {
				edits[i].Rev = revs[i]
			}
		}
		results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		revs = make([]layer.Rev, len(results))
		for i, r := range results {
			if revs[i] = r.Rev; r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		return revs
	}
	insert := func(d *layer.Database) layer.Rev {
		return put(t, d, `{"_id":"doc-000","name":"somebody","country":"NO"}`)
	}
	var rev layer.Rev
	var revs []layer.Rev
	history := func(n int) string {
		return fmt.Sprintf(`{"_id":"doc-000","_revisions":{"start":%d,"ids":["%032d","%032d"]},"name":"somebody"}`, n,
			n, n-1)
	}
	for _, c := range []struct {
		name          string
		before, write func(d *layer.Database)
		want          writeCounts
	}{
		{"insert", nil, func(d *layer.Database) { insert(d) },
			writeCounts{reads: 1, sets: 6, setBytes: 280, atomics: 2, atomicBytes: 57}},
		{
			"update", func(d *layer.Database) { rev = insert(d) },
			func(d *layer.Database) { put(t, d, fmt.Sprintf(leaf, rev)) }, writeCounts{reads: 2, sets: 7, setBytes: 349,
				cleared: 2, clearBytes: 59, atomics: 6, atomicBytes: 165},
		},
		{
			"delete", func(d *layer.Database) { rev = insert(d) },
			func(d *layer.Database) { put(t, d, `{"_id":"doc-000","_rev":"`+rev.String()+`","_deleted":true}`) },
			writeCounts{reads: 2, sets: 6, setBytes: 282, cleared: 3, clearBytes: 74, atomics: 8, atomicBytes: 225},
		},
		{
			"replicated edit", func(d *layer.Database) { push(t, d, history(2)) },
			func(d *layer.Database) { push(t, d, history(3)) }, writeCounts{reads: 2, sets: 7, setBytes: 457,
				cleared: 2, clearBytes: 74, atomics: 6, atomicBytes: 165},
		},
		{"100 inserts", nil, func(d *layer.Database) { bulk(d, nil) },
			writeCounts{reads: 1, sets: 402, setBytes: 22456, atomics: 2, atomicBytes: 57}},
		{
			"100 updates", func(d *layer.Database) { revs = bulk(d, nil) },
			func(d *layer.Database) { bulk(d, revs) }, writeCounts{reads: 101, sets: 502, setBytes: 29356, cleared: 200,
				clearBytes: 5900, atomics: 6, atomicBytes: 165},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &footprintEngine{Engine: mustEngine(t)}
			d := mustQuietDatabase(t, e, layer.CreateOptions{})
			if c.before != nil {
				c.before(d)
			}
			e.take()
			c.write(d)
			got := e.take().writeCounts
			if fdbtest.Enabled() { // versions and hours of a new cluster are small, and so are keys that contain them
				got.setBytes, got.atomicBytes = c.want.setBytes, c.want.atomicBytes
			}
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// mustQuietDatabase returns a new database of a store without background work.
func mustQuietDatabase(tb testing.TB, e kv.Engine, o layer.CreateOptions) *layer.Database {
	tb.Helper()
	sandbox := script.New(script.Options{})
	tb.Cleanup(func() { _ = sandbox.Close() })
	s, err := layer.Open(tb.Context(), e, layer.Options{Scripts: sandbox})
	if err != nil {
		tb.Fatal(err)
	}
	d := mustCreate(tb, s, "db", o)
	if d.Number() == 0 { // drawn at random; 0 would make keys a byte shorter
		d = mustCreate(tb, s, "db2", o)
	}
	if _, err := d.LastSeq(tb.Context()); err != nil { // the configuration is cached from now on
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return d
}

// Writers of documents in different changes shards write no common key, and neither writes a key that the other has
// read with a conflict range.
func TestWriters_differentShards(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		t.Run(fmt.Sprintf("partitioned=%t", partitioned), func(t *testing.T) {
			e := &footprintEngine{Engine: mustEngine(t)}
			d := mustQuietDatabase(t, e, layer.CreateOptions{Shards: 4, Partitioned: partitioned})
			put(t, d, `{"_id":"_design/d","options":{"interactive":true},"language":"javascript","views":{
				"v":{"map":"function(doc) { if (doc.v) throw new Error('no'); emit(doc._id, 1) }"}}}`)
			prefix := ""
			if partitioned {
				prefix = "%[1]s:"
			}
			// The feed shows which shard an id belongs to.
			ids := map[layer.ShardID]string{}
			for i := 0; len(ids) < 2; i++ {
				id := fmt.Sprintf(prefix+"%[1]s", fmt.Sprintf("n%d", i))
				put(t, d, `{"_id":"`+id+`"}`)
				ids[shardOfLast(t, d)] = id
			}
			var shards []layer.ShardID
			var prints []footprint
			for shard, id := range ids {
				e.take()
				writeAll(t, d, id)
				shards, prints = append(shards, shard), append(prints, e.take())
			}
			for i := range prints {
				common(t, shards[i], prints[i].writes, shards[1-i], prints[1-i].writes)
				common(t, shards[i], prints[i].writes, shards[1-i], prints[1-i].reads)
			}
			if len(prints[0].writes) < 50 || len(prints[0].reads) < 10 {
				t.Errorf("%d writes, %d reads", len(prints[0].writes), len(prints[0].reads))
			}
		})
	}
}

// shardOfLast returns the shard of the newest change.
func shardOfLast(tb testing.TB, d *layer.Database) (shard layer.ShardID) {
	tb.Helper()
	pass, err := d.Changes(tb.Context(), layer.ChangesOptions{Descending: true, Limit: 1})
	if err != nil {
		tb.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		shard = c.Shard
	}
	return shard
}

// writeAll writes documents whose ids begin with id, or are in its partition, in every way except a purge, because a
// database has a single purge history.
func writeAll(t *testing.T, d *layer.Database, id string) {
	t.Helper()
	get := func() layer.Rev {
		doc, err := d.Get(t.Context(), id, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Rev
	}
	inline := fmt.Sprintf(`{"_id":%q,"_rev":%q,"_attachments":{"a":{"content_type":"text/plain","data":"YWJj"}}}`, id,
		get())
	put(t, d, inline)
	u, err := d.Upload(t.Context(), id, bytes.NewReader(make([]byte, 1000)), 1000, "")
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, fmt.Sprintf(`{"_id":%q,"_rev":%q}`, id, get()))
	e := layer.Edit{ID: id, Rev: get(), Attachments: []layer.AttachmentEdit{{Name: "b", ContentType: "text/plain",
		Upload: u}}}
	if _, err := d.Put(t.Context(), e, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"a", "b"} { // conflicts, one of which wins
		push(t, d, fmt.Sprintf(`{"_id":%q,"_revisions":{"start":9,"ids":[%q,"x"]},"v":1}`, id, branch))
	}
	push(t, d, fmt.Sprintf(`{"_id":%q,"_revisions":{"start":10,"ids":["c","a","x"]},"_deleted":true}`, id))
	put(t, d, fmt.Sprintf(`{"_id":%q,"_rev":%q,"_deleted":true}`, id, get()))
	if _, err := d.PutLocal(t.Context(), layer.Edit{ID: "_local/" + id, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
}

// common fails if one writer has written what the other has touched.
func common(t *testing.T, one layer.ShardID, writes []kv.KeyRange, other layer.ShardID, touched []kv.KeyRange) {
	t.Helper()
	for _, w := range writes {
		for _, r := range touched {
			if bytes.Compare(w.Begin, r.End) >= 0 || bytes.Compare(r.Begin, w.End) >= 0 {
				continue
			}
			key, err := tuple.Unpack(w.Begin)
			if err == nil && key[0] == int64(keyspace.Transactions) {
				continue // random ids
			}
			t.Errorf("writers of shard %s write %v, which those of %s touch too", one, key, other)
		}
	}
}

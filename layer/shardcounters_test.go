package layer_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// unshard turns a store into one of format 5: superseded bodies and counters of the database as a whole.
func unshard(tb testing.TB, e kv.Engine) {
	tb.Helper()
	_, _, err := kv.Transact(tb.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set(tuple.Tuple{int64(keyspace.Format)}.Pack(), tuple.AppendInt(nil, 5))
		for _, row := range dump(tb, tx) {
			if row.key[0] != int64(keyspace.Data) {
				continue
			}
			old := tuple.Tuple{row.key[0], row.key[1], nil, row.key[len(row.key)-1]}
			switch keyspace.Subspace(row.key[2].(int64)) {
			case keyspace.ShardSuperseded:
				old[2] = int64(keyspace.Superseded)
				tx.Set(old.Pack(), row.value)
			case keyspace.ShardCounters:
				old[2] = int64(keyspace.Counters)
				tx.Atomic(kv.AtomicAdd, old.Pack(), row.value)
			default:
				continue
			}
			tx.Clear(row.key.Pack())
		}
		return struct{}{}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// The superseded bodies and counters of a store of format 5 are kept and used together with new ones.
func TestOpen_unshardedCounters(t *testing.T) {
	e := mustEngine(t)
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3, Partitioned: true})
	revs := map[string]layer.Rev{}
	update := func(id string) {
		doc := `{"_id":"` + id + `"`
		if rev, ok := revs[id]; ok {
			doc += `,"_rev":"` + rev.String() + `"`
		}
		revs[id] = put(t, d, doc+"}")
	}
	for i := range 40 {
		update(fmt.Sprintf("p%d:%d", i%4, i%20))
	}
	before, err := d.Info(t.Context())
	if err != nil || before.SupersededBodies != 20 || before.DocCount != 20 {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unshard(t, e)

	s = mustStore(t, e, layer.Options{})
	if d, err = s.Database(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	if after, err := d.Info(t.Context()); err != nil || after != before {
		t.Fatalf("%+v, %v; was %+v", after, err, before)
	}
	for i := range 10 {
		update(fmt.Sprintf("p%d:%d", i%4, i))
	}
	if _, err := d.Reshard(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		update(fmt.Sprintf("p%d:%d", i%4, i))
	}
	if info, err := d.Info(t.Context()); err != nil || info.SupersededBodies != 35 || info.DocCount != 20 {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := d.Info(t.Context()); err != nil || info.SupersededBodies != 0 || info.DocCount != 20 {
		t.Fatalf("%+v, %v", info, err)
	}
	all, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1})
	if err != nil || all.TotalRows != 20 {
		t.Fatalf("%d documents, %v", all.TotalRows, err)
	}
	for range all.Rows { //nolint:revive // to its end
	}
	for i := range 70 { // the used prefixes stay used
		mustCreate(t, s, fmt.Sprintf("other%d", i), layer.CreateOptions{})
	}
	if info, err := d.Info(t.Context()); err != nil || info.DocCount != 20 {
		t.Fatalf("%+v, %v", info, err)
	}
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	if v, err := tx.Get(tuple.Tuple{int64(keyspace.Format)}.Pack()).Wait(); err != nil ||
		!bytes.Equal(v, tuple.AppendInt(nil, keyspace.FormatVersion)) {
		t.Errorf("the store has format %v, %v", v, err)
	}
}

// Compaction does not conflict with writers that add to its queue.
func TestCompact_conflictsWithNoWriter(t *testing.T) {
	e := &footprintEngine{Engine: mustEngine(t)}
	d := mustQuietDatabase(t, e, layer.CreateOptions{Shards: 2})
	var revs [10]layer.Rev
	for i := range 30 {
		n := i % len(revs)
		rev := ""
		if i >= len(revs) {
			rev = fmt.Sprintf(`,"_rev":%q`, revs[n])
		}
		revs[n] = put(t, d, fmt.Sprintf(`{"_id":"%d"%s}`, n, rev))
	}
	e.take()
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	queued := 0
	for _, r := range e.take().reads {
		key, err := tuple.Unpack(r.Begin)
		if err == nil && len(key) > 2 &&
			(key[2] == int64(keyspace.Superseded) || key[2] == int64(keyspace.ShardSuperseded)) {
			queued++
			if !bytes.Equal(r.End, append(bytes.Clone(r.Begin), 0)) {
				t.Errorf("%v to %x is read with conflict", key, r.End)
			}
		}
	}
	if queued != 20 {
		t.Errorf("%d rows of the queue were read with conflict, want 20", queued)
	}
}

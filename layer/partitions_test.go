package layer_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/script"
)

func mustPartitioned(tb testing.TB) *layer.Database {
	tb.Helper()
	return mustCreate(tb, mustStore(tb, mustEngine(tb), layer.Options{}), "db",
		layer.CreateOptions{Shards: 4, Partitioned: true})
}

// partitionShards fails if a partition's documents are in several shards. It counts the partitions, the shards that
// have some, and all shards.
func partitionShards(t *testing.T, d *layer.Database) (partitions, used, shards int) {
	t.Helper()
	shardOf := map[string]layer.ShardID{}
	with := map[layer.ShardID]bool{}
	pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		partition, _, _ := strings.Cut(c.ID, ":")
		if shard, ok := shardOf[partition]; ok && shard != c.Shard {
			t.Fatalf("%s is in shard %s, other documents of its partition in %s", c.ID, c.Shard, shard)
		}
		shardOf[partition] = c.Shard
		with[c.Shard] = true
	}
	return len(shardOf), len(with), len(pass.Shards())
}

// P2: all documents of a partition share a shard, whatever their ids are, also after a reshard.
func TestPartition_SharesAShard(t *testing.T) {
	d := mustPartitioned(t)
	for range 3 {
		for p := range 40 {
			for i := range 3 {
				save(t, d, fmt.Sprintf(`{"_id":"p%d:%d:%d","x":1}`, p, i, i*p))
			}
		}
		partitions, used, shards := partitionShards(t, d)
		if used != shards || partitions != 40 {
			t.Errorf("%d partitions on %d of %d shards", partitions, used, shards)
		}
		if _, err := d.Reshard(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPartition_RefusesIDs(t *testing.T) {
	d := mustPartitioned(t)
	for _, c := range []struct{ id, name string }{
		{"plain", "illegal_docid"}, {"p:", "illegal_docid"}, {":x", "illegal_partition"}, {"p:_x", "illegal_docid"},
		{"p:a:b", ""}, {"p::", ""},
		{"_design/plain", ""}, {"p:_design/x", ""},
	} {
		_, err := d.Put(t.Context(), edit(t, `{"_id":"`+c.id+`"}`), layer.WriteOptions{})
		if got := nameOf(err); got != c.name {
			t.Errorf("put %q: %v", c.id, err)
		}
		if _, err = d.Get(t.Context(), c.id, layer.GetOptions{}); nameOf(err) != c.name {
			t.Errorf("get %q: %v", c.id, err)
		}
		if c.name == "" {
			continue
		}
		last, err := d.LastSeq(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Bulk(t.Context(), []layer.Edit{edit(t, `{"_id":"p:good"}`), edit(t, `{"_id":"`+c.id+`"}`)},
			layer.WriteOptions{})
		if nameOf(err) != c.name {
			t.Errorf("bulk with %q: %v", c.id, err)
		}
		if now, err := d.LastSeq(t.Context()); now != last || err != nil {
			t.Errorf("bulk with %q wrote something: %v", c.id, err)
		}
	}
	for _, name := range []string{"_users", "_replicator", "a/_users"} {
		s := mustStore(t, mustEngine(t), layer.Options{})
		if _, err := s.Create(t.Context(), name,
			layer.CreateOptions{Partitioned: true}); layer.KindOf(err) != layer.Invalid || err == nil {
			t.Errorf("partitioned %s: %v", name, err)
		}
	}
}

// Counters of partitions follow every way in which documents are added and removed. checkStore compares them with the
// stored documents.
func TestPartition_Info(t *testing.T) {
	d := mustPartitioned(t)
	ctx := t.Context()
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 1000)))
	for i := range 10 {
		save(t, d, fmt.Sprintf(`{"_id":"a:%d","x":"%s"}`, i, strings.Repeat("x", 50*i)))
		save(t, d, fmt.Sprintf(`{"_id":"b:%d","_attachments":{"f":{"data":"%s"}}}`, i, data))
	}
	for i := range 5 {
		save(t, d, fmt.Sprintf(`{"_id":"a:%d","_deleted":true}`, i))
		save(t, d, fmt.Sprintf(`{"_id":"b:%d","y":1}`, i))
	}
	push(t, d, `{"_id":"a:9","_revisions":{"start":3,"ids":["c","b","a"]}}`)
	push(t, d, `{"_id":"a:new","_deleted":true,"_revisions":{"start":1,"ids":["a"]}}`)
	save(t, d, `{"_id":"_design/d","views":{}}`)
	info := func(name string) layer.PartitionInfo {
		i, err := d.Partition(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	a, b := info("a"), info("b")
	if a.DocCount != 5 || a.DocDelCount != 6 || b.DocCount != 10 || b.DocDelCount != 0 ||
		b.ExternalSize < 5000 || b.ExternalSize > 6500 || a.ExternalSize < 50*35 || a.ExternalSize > 50*45 {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if none := info("none"); none != (layer.PartitionInfo{}) {
		t.Errorf("none: %+v", none)
	}
	if err := d.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if now := [2]layer.PartitionInfo{info("a"), info("b")}; now != [2]layer.PartitionInfo{a, b} {
		t.Errorf("after compaction: %+v; before: %+v, %+v", now, a, b)
	}
	for i := range 10 {
		id := fmt.Sprintf("a:%d", i)
		revs, err := d.OpenRevs(ctx, id, nil, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var leaves []layer.Rev
		for _, r := range revs {
			leaves = append(leaves, r.Doc.Rev)
		}
		if _, err := d.Purge(ctx, id, leaves); err != nil {
			t.Fatal(err)
		}
	}
	if a := info("a"); a.DocCount != 0 || a.DocDelCount != 1 || a.ExternalSize > 100 {
		t.Errorf("a after the purge: %+v", a)
	}
	whole, err := d.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := info("a"), info("b"); a.DocCount+b.DocCount+1 != whole.DocCount ||
		a.ActiveSize+b.ActiveSize >= whole.ActiveSize {
		t.Errorf("partitions %+v and %+v, database %+v", a, b, whole)
	}
	moved, err := mustStore(t, mustEngine(t), layer.Options{}).Import(ctx, "moved", bytes.NewReader(export(t, d)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if got, err := moved.Partition(ctx, name); err != nil || got != info(name) {
			t.Errorf("%s is %+v after a move, %+v before; %v", name, got, info(name), err)
		}
	}
	plain := mustDatabase(t)
	if _, err := plain.Partition(ctx, "a"); nameOf(err) != "bad_request" {
		t.Errorf("database without partitions: %v", err)
	}
}

// A query of one partition reads only that partition's rows, because the index stores them together.
func TestPartition_QueryIsANarrowRead(t *testing.T) {
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { _ = sandbox.Close() })
	e := &countingEngine{Engine: mustEngine(t)}
	s, err := layer.Open(t.Context(), e, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	d := mustCreate(t, s, "db", layer.CreateOptions{Partitioned: true})
	var docs []layer.Edit
	for p := range 50 {
		for i := range 20 {
			docs = append(docs, edit(t, fmt.Sprintf(`{"_id":"p%02d:%02d","n":%d}`, p, i, i)))
		}
	}
	if _, err := d.Bulk(t.Context(), docs, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	save(t, d,
		`{"_id":"_design/d","views":{"n":{"map":"function (doc) { emit(doc.n, 1) }","reduce":"_sum"}},"options":{"include_design":true}}`)
	design := mustDesign(t, d, "d")
	if !design.Partitioned {
		t.Fatal("views of a partitioned database are partitioned unless they say otherwise")
	}
	ix := d.Index(design)
	build(t, ix, 1, 100)
	if err := s.Close(); err != nil { // no background transactions while counting
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    layer.ViewQuery
		want int
	}{
		{layer.ViewQuery{Limit: -1}, 20},
		{layer.ViewQuery{Limit: -1, Descending: true}, 20},
		{layer.ViewQuery{StartKey: []byte("5"), EndKey: []byte("9"), Limit: -1}, 5},
		{layer.ViewQuery{StartKey: []byte("15"), Limit: -1}, 5},
		{layer.ViewQuery{EndKey: []byte("3"), Limit: -1, ExcludeEnd: true}, 3},
		{layer.ViewQuery{Keys: [][]byte{[]byte("3"), []byte("17"), []byte("99")}, Limit: -1}, 2},
		{layer.ViewQuery{Limit: 3}, 3},
	} {
		c.q.View, c.q.Partition = "n", "p07"
		result, err := ix.Query(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for row, err := range result.Rows {
			if err != nil || !strings.HasPrefix(row.ID, "p07:") {
				t.Fatalf("row %+v, %v", row, err)
			}
			rows++
		}
		if rows != c.want {
			t.Errorf("%+v: %d rows, want %d", c.q, rows, c.want)
		}
		if reads := e.counts.reads[keyspace.Views]; reads < c.want || reads > c.want+7 { // plus the index's state
			t.Errorf("%+v: %d rows read for %d", c.q, reads, c.want)
		}
		result2, err := ix.Reduce(t.Context(), layer.ReduceQuery{ViewQuery: c.q})
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range result2.Rows {
			if err != nil {
				t.Fatal(err)
			}
			if c.q.Limit < 0 && c.q.Keys == nil && string(row.Value) != fmt.Sprint(c.want) {
				t.Errorf("%+v: reduced to %s", c.q, row.Value)
			}
		}
	}
	for _, q := range []layer.ViewQuery{{View: "n", Limit: -1}} {
		if _, err := ix.Query(t.Context(), q); nameOf(err) != "query_parse_error" {
			t.Errorf("without a partition: %v", err)
		}
		if _, err := ix.Reduce(t.Context(), layer.ReduceQuery{ViewQuery: q}); nameOf(err) != "query_parse_error" {
			t.Errorf("reduced without a partition: %v", err)
		}
	}
}

// nameOf returns the name of a domain error, "" if there is none.
func nameOf(err error) string {
	var e *layer.Error
	if errors.As(err, &e) && e.Kind == layer.Invalid {
		return e.Name
	}
	return ""
}

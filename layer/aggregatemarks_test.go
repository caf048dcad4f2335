package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

// viewKeys counts the keys of all indexes in one of their ranges.
func viewKeys(tb testing.TB, engine kv.Engine, r keyspace.ViewRange) (n int) {
	tb.Helper()
	tx := engine.Begin(faultkv.Forever(tb.Context()))
	defer tx.Cancel()
	it := tx.GetRange(kv.KeyRange{Begin: []byte{0}, End: []byte{0xff}}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		if inViewRange(it.KeyValue().Key, r) {
			n++
		}
	}
	if err := it.Err(); err != nil {
		tb.Fatal(err)
	}
	return n
}

// inViewRange reports whether a key is (Data, database, Views, ViewData, index, r, ...). Those of marks may be of any
// epoch.
func inViewRange(key []byte, r keyspace.ViewRange) bool {
	var head [4]int64
	var err error
	for i := range head {
		if head[i], key, err = tuple.TakeInt(key); err != nil {
			return false
		}
	}
	if head[0] != int64(keyspace.Data) || head[2] != int64(keyspace.Views) || head[3] != int64(keyspace.ViewData) {
		return false
	}
	if key, err = tuple.Skip(key); err != nil {
		return false
	}
	at, _, err := tuple.TakeInt(key)
	return err == nil && (at == int64(r) || r == keyspace.ViewMarks && at > int64(r))
}

// A small build of an index with readers leaves its aggregates to those who maintain them: they are marked as stale,
// and queries use the rows. A first build does not.
func TestBuild_staleAggregates(t *testing.T) {
	below := mustEngine(t)
	db := openAggregates(t, below, below, layer.CreateOptions{Shards: 1})
	save(t, db, aggregateDesign())
	loadRows(t, db, 40)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	if partials, marks := viewKeys(t, below, keyspace.ViewPartials),
		viewKeys(t, below, keyspace.ViewMarks); partials == 0 || marks > 0 {
		t.Fatalf("built: %d partials, %d marks", partials, marks)
	}
	count := func() string {
		return fmt.Sprint(reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count", Limit: -1}}))
	}
	for i := range 40 {
		save(t, db, fmt.Sprintf(`{"_id":"x%d","rows":[[["b",%d.5],1]]}`, i, i))
	}
	build(t, ix, 2, 10)
	if viewKeys(t, below, keyspace.ViewMarks) == 0 || count() != "[null 240]" {
		t.Errorf("built again: %d marks, count %s", viewKeys(t, below, keyspace.ViewMarks), count())
	}
	if err := ix.Aggregate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if marks := viewKeys(t, below, keyspace.ViewMarks); marks > 0 || count() != "[null 240]" {
		t.Errorf("aggregated: %d marks, count %s", marks, count())
	}
}

// loadRows writes documents that emit five rows each into the views of aggregateDesign.
func loadRows(tb testing.TB, db *layer.Database, docs int) {
	tb.Helper()
	for i := range docs {
		save(tb, db,
			fmt.Sprintf(`{"_id":"%04d","rows":[[["a",%d],1],[["b",%d],2],[["c",%d],3],[%d,4],["z",5]]}`, i, i, i, i, i))
	}
}

package layer_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// Where the engine holds no snapshots, a query applies a large lag itself, also while a build has written half of it: each document once, with the body that
// its row was made from. What is more than that is refused where the query has to be fresh, and never answered wrongly.
func TestIndex_largeLag(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("a query that applies thousands of documents meets a fault in every transaction")
	}
	db := openViewsOn(t, mustEngineWith(t, false), layer.CreateOptions{Shards: 2})
	save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc.n, doc.n); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	const docs = 2500
	edits := make([]layer.Edit, docs)
	write := func(n int) []int64 {
		t.Helper()
		for i := range edits {
			edits[i].ID, edits[i].Body = fmt.Sprint(i), fmt.Appendf(nil, `{"n":%d}`, n*docs+i)
		}
		results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		least := make([]int64, docs)
		for i, r := range results {
			edits[i].Rev, least[i] = r.Rev, int64(n*docs+i)
		}
		return least
	}
	write(0)
	build(t, ix, 1, 1000)
	least := write(1)
	if problem := inconsistency(t, ix, least); problem != "" {
		t.Errorf("not building: %s", problem)
	}
	b, err := ix.StartBuild(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Step(t.Context(), b.Shards[0], 700); err != nil {
		t.Fatal(err)
	}
	least = write(2)
	if problem := inconsistency(t, ix, least); problem != "" {
		t.Errorf("building: %s", problem)
	}
	// Rows of many bytes are more than a transaction may apply.
	for i := range edits {
		edits[i].Body = fmt.Appendf(nil, `{"n":"%06d%05000d"}`, i, 0)
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var behind *layer.Error
	if _, err := ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, Fresh: true}); !errors.As(err, &behind) || behind.Name != layer.IndexBehind {
		t.Errorf("more than can be applied: %v", err)
	}
	if _, err := ix.Reduce(t.Context(), layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "v", Fresh: true}}); layer.KindOf(err) != layer.NotFound {
		t.Errorf("a view without reduce: %v", err)
	}
	// Such a query is begun again once the index is up to date, and no more often than that.
	ensured := 0
	b.Close()
	begin := func() (*layer.ViewResult, error) {
		return ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, Fresh: true})
	}
	result, err := layer.BeginEnsured(func() error {
		ensured++
		build(t, ix, 3, 300)
		return nil
	}, begin)
	if err != nil || ensured != 1 || result.TotalRows != docs {
		t.Fatalf("%+v, %v, after %d times", result, err, ensured)
	}
	for _, err := range result.Rows {
		if err != nil {
			t.Error(err)
		}
	}
	stuck := errors.New("stuck")
	never := func() (int, error) { return 0, &layer.Error{Kind: layer.Unavailable, Name: layer.IndexBehind} }
	if _, err := layer.BeginEnsured(func() error { return stuck }, never); !errors.Is(err, stuck) {
		t.Errorf("ensure failed: %v", err)
	}
}

package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

// purge removes all leaves of a document.
func purge(tb testing.TB, db *layer.Database, id string) {
	tb.Helper()
	answers, err := db.OpenRevs(tb.Context(), id, nil, layer.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	var revs []layer.Rev
	for _, a := range answers {
		revs = append(revs, a.Rev)
	}
	if purged, err := db.Purge(tb.Context(), id, revs); err != nil || len(purged) != len(revs) {
		tb.Fatal(purged, err)
	}
}

// A purged document is removed from every index, however the index is brought up to date. A document recreated under
// its id is not mistaken for it.
func TestIndex_Purge(t *testing.T) {
	oneGoroutine(t)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 2})
			save(t, db, byN)
			ix := db.Index(mustDesign(t, db, "d"))
			const docs = 30
			for i := range docs {
				save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, i))
			}
			build(t, ix, 1, 7)
			check := func(what string, gone ...int) {
				t.Helper()
				var want []string
				for i := range docs {
					if !slices.Contains(gone, i) {
						want = append(want, fmt.Sprintf("%02d %d null", i, i))
					}
				}
				if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got, want) {
					t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
				}
				state, err := ix.State(t.Context())
				if err != nil || !state.Current() || state.Views[0].Rows != int64(len(want)) {
					t.Errorf("%s: state %+v, %v", what, state, err)
				}
			}
			current := func() bool {
				state, err := ix.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return state.Current()
			}
			purge(t, db, "03")
			purge(t, db, "04")
			if current() {
				t.Error("the index counts as current after a purge")
			}
			save(t, db, `{"_id":"04","n":4}`)
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			check("caught up", 3)

			purge(t, db, "05")
			save(t, db, `{"_id":"05","n":5}`)
			purge(t, db, "05")
			purge(t, db, "06")
			build(t, ix, 2, 7)
			check("built", 3, 5, 6)

			// During a build, after the document's shard was done.
			save(t, db, `{"_id":"08","n":8,"again":true}`)
			b, err := ix.StartBuild(t.Context(), 3)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for _, shard := range b.Shards {
				if _, err := b.Step(t.Context(), shard, 100); err != nil {
					t.Fatal(err)
				}
			}
			purge(t, db, "07")
			purge(t, db, "08")
			if err := b.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			check("purged during a build", 3, 5, 6, 7, 8)
			if ok, err := ix.CatchUp(t.Context(), 0); !ok || err != nil {
				t.Errorf("nothing is left to do: %v, %v", ok, err)
			}
		})
	}
}

// If there are more purges than one transaction can apply, a build applies them.
func TestBuild_manyPurges(t *testing.T) {
	oneGoroutine(t)
	db := openViewsOn(t, mustEngineWith(t, false), layer.CreateOptions{})
	save(t, db, byN)
	ix := db.Index(mustDesign(t, db, "d"))
	const docs = 1300
	edits := make([]layer.Edit, docs)
	for i := range edits {
		edits[i] = layer.Edit{ID: fmt.Sprintf("%04d", i), Body: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	build(t, ix, 1, 500)
	for i, r := range results {
		if i == 0 {
			continue
		}
		if _, err := db.Purge(t.Context(), r.ID, []layer.Rev{r.Rev}); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := ix.CatchUp(t.Context(), 100); ok || err != nil {
		t.Fatal("caught up with more than was allowed", err)
	}
	build(t, ix, 2, 500)
	if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got, []string{"0000 0 null"}) {
		t.Errorf("%d rows are left: %.200q", len(got), got)
	}
}

// Removing the rows of many documents may exceed a transaction, though the documents have no rows now: builds write it
// in smaller parts.
func TestBuild_manyOldRows(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/d","views":{"n":{"map":"function(doc) { for (var i = 0; i < doc.n; i++) emit(i + 'x'.repeat(7000), null); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	edits := make([]layer.Edit, 200)
	for i := range edits {
		edits[i] = layer.Edit{ID: fmt.Sprintf("%04d", i), Body: []byte(`{"n":9}`)}
	}
	results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	build(t, ix, 1, 50)
	for i, r := range results {
		if i%2 == 0 {
			edits[i].Rev, edits[i].Body = r.Rev, []byte(`{}`)
		} else if _, err := db.Purge(t.Context(), r.ID, []layer.Rev{r.Rev}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(edits); i += 2 {
		if _, err := db.Put(t.Context(), edits[i], layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ix.CatchUp(t.Context(), 1000); err != nil {
		t.Error(err)
	}
	build(t, ix, 2, 1000)
	state, err := ix.State(t.Context())
	if err != nil || state.Views[0].Rows != 0 || state.Views[0].Bytes != 0 {
		t.Errorf("state %+v, %v", state, err)
	}
}

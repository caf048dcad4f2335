package layer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
)

const interactive = `{"_id":"_design/d","options":{"interactive":true},"views":{"n":{"map":"function(doc) { ` +
	`if (doc.bad) throw new Error('no'); if ('n' in doc) emit(doc.n, doc._conflicts || null); }"}}}`

// recomputed maps every document of the database again and returns the expected rows of a view.
func recomputed(tb testing.TB, db *layer.Database, design string) []string {
	tb.Helper()
	save(tb, db,
		strings.NewReplacer(`"_design/d"`, `"_design/recomputed"`, `"interactive":true`,
			fmt.Sprintf(`"interactive":false,"x":%d`, rand.Int64())).Replace(design))
	ix := db.Index(mustDesign(tb, db, "recomputed"))
	state, err := ix.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if state.Seq.IsZero() {
		build(tb, ix, 1, 100)
	} else if ok, err := ix.CatchUp(tb.Context(), 100_000); !ok || err != nil {
		tb.Fatal(ok, err)
	}
	return rows(tb, ix, layer.ViewQuery{View: "n", IncludeDocs: true})
}

func wantReady(tb testing.TB, ix *layer.Index) layer.IndexState {
	tb.Helper()
	state, err := ix.State(tb.Context())
	if err != nil || state.Creation.IsZero() || !state.Current() || state.Building {
		tb.Fatalf("not ready: %+v, %v", state, err)
	}
	return state
}

// After every kind of write, a ready interactive index equals a recomputation at once, without catching up.
func TestInteractive_writes(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 2})
			save(t, db, `{"_id":"before","n":0}`)
			save(t, db, interactive)
			ix := db.Index(mustDesign(t, db, "d"))
			if got := rows(t, ix, layer.ViewQuery{View: "n"}); got != nil {
				t.Errorf("before it is ready: %q", got)
			}
			save(t, db, `{"_id":"meanwhile","n":1}`)
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			check := func(what string, want ...string) {
				t.Helper()
				state := wantReady(t, ix)
				got := rows(t, ix, layer.ViewQuery{View: "n"})
				if !slices.Equal(got, want) || state.Views[0].Rows != int64(len(want)) {
					t.Fatalf("%s: %d rows counted\ngot  %q\nwant %q", what, state.Views[0].Rows, got, want)
				}
				if again := recomputed(t, db,
					interactive); !slices.Equal(rows(t, ix, layer.ViewQuery{View: "n", IncludeDocs: true}), again) {
					t.Fatalf("%s: a recomputation has %q", what, again)
				}
			}
			check("built", "before 0 null", "meanwhile 1 null")
			save(t, db, `{"_id":"before","n":2}`)
			save(t, db, `{"_id":"meanwhile","_deleted":true}`)
			check("updated and deleted", "before 2 null")
			if _, err := db.Bulk(t.Context(), []layer.Edit{
				edit(t, `{"_id":"a","n":1}`), edit(t, `{"_id":"b","n":3}`), edit(t, `{"_id":"c"}`),
				edit(t, `{"_id":"before","n":9}`),
			}, layer.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			check("bulk, one of it a conflict", "a 1 null", "before 2 null", "b 3 null")

			// Replicated edits: a losing branch is a conflict of the winner; when the winner is deleted, the other
			// branch is indexed.
			replicate := func(doc string) {
				t.Helper()
				if _, err := db.Put(t.Context(), replicated(t, doc), layer.WriteOptions{Replicated: true}); err != nil {
					t.Fatal(err)
				}
			}
			replicate(`{"_id":"r","_rev":"1-ff","n":5}`)
			replicate(`{"_id":"r","_rev":"1-aa","n":6}`)
			check("a losing branch", "a 1 null", "before 2 null", "b 3 null", `r 5 ["1-aa"]`)
			replicate(`{"_id":"r","_rev":"2-00","_deleted":true,"_revisions":{"start":2,"ids":["00","ff"]}}`)
			check("the winner is deleted", "a 1 null", "before 2 null", "b 3 null", "r 6 null")
			replicate(`{"_id":"r","_rev":"1-bb","n":7}`)
			check("a new winner", "a 1 null", "before 2 null", "b 3 null", `r 7 ["1-aa"]`)
			if _, err := db.Purge(t.Context(), "r", []layer.Rev{{Pos: 1, ID: "bb"}}); err != nil {
				t.Fatal(err)
			}
			check("the winner is purged", "a 1 null", "before 2 null", "b 3 null", "r 6 null")
			purge(t, db, "r")
			purge(t, db, "a")
			check("purged", "before 2 null", "b 3 null")

			// A map error does not fail the write and is listed.
			save(t, db, `{"_id":"b","n":1,"bad":true}`)
			check("an error", "before 2 null")
			var failed []string
			for e, err := range ix.Errors(t.Context()) {
				if err != nil || e.Seq != mustSeq(t, db, "b") {
					t.Errorf("%+v, %v", e, err)
				}
				failed = append(failed, e.DocID+" "+e.Error)
			}
			if len(failed) != 1 || !strings.HasPrefix(failed[0], "b Error: no") {
				t.Errorf("errors %q", failed)
			}
			save(t, db, `{"_id":"b","n":1}`)
			if state := wantReady(t, ix); state.Views[0].Errors != 0 {
				t.Errorf("after mending: %+v", state)
			}
			if _, err := db.Reshard(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			save(t, db, `{"_id":"b","n":4}`)
			check("resharded", "before 2 null", "b 4 null")

			// Another design document shares the index; then none uses it, and then one does again.
			save(t, db, strings.Replace(interactive, "_design/d", "_design/e", 1))
			save(t, db, `{"_id":"_design/d","_deleted":true}`)
			save(t, db, `{"_id":"b","n":5}`)
			ix = db.Index(mustDesign(t, db, "e"))
			check("shared", "before 2 null", "b 5 null")
			design := mustDesign(t, db, "e")
			save(t, db, `{"_id":"_design/e","_deleted":true}`)
			save(t, db, `{"_id":"b","n":6}`)
			purge(t, db, "before")
			ix = db.Index(design)
			if state, err := ix.State(t.Context()); err != nil || state.Current() || !state.Creation.IsZero() {
				t.Errorf("retired: %+v, %v", state, err)
			}
			save(t, db, interactive)
			save(t, db, `{"_id":"c","n":7}`)
			build(t, ix, 50, 1)
			check("back again", "b 6 null", "c 7 null")
			save(t, db, strings.Replace(interactive, "emit(doc.n", "emit(-doc.n", 1))
			if err := db.CleanupViews(t.Context()); err != nil {
				t.Fatal(err)
			}
			if state, err := ix.State(t.Context()); err != nil || !state.Seq.IsZero() || state.Views[0].Rows != 0 {
				t.Errorf("cleaned: %+v, %v", state, err)
			}
			save(t, db, `{"_id":"d","n":8}`)
			ix = db.Index(mustDesign(t, db, "d"))
			build(t, ix, 51, 1)
			if got := rows(t, ix, layer.ViewQuery{View: "n"}); !slices.Equal(got,
				[]string{"d -8 null", "c -7 null", "b -6 null"}) {
				t.Errorf("changed: %q", got)
			}
		})
	}
}

func mustSeq(tb testing.TB, db *layer.Database, id string) layer.Seq {
	tb.Helper()
	doc, err := db.Get(tb.Context(), id, layer.GetOptions{LocalSeq: true})
	if err != nil {
		tb.Fatal(err)
	}
	return doc.LocalSeq
}

// While an interactive index is built, abandoned and taken over, while the design document changes back and forth and
// the database is resharded, writers lose nothing: at the end the index equals a recomputation, and its counters are
// exact.
func TestInteractive_building(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			buildInteractive(t, openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 3}))
		})
	}
}

func TestInteractive_buildingFaults(t *testing.T) {
	buildInteractive(t, openFaultyViews(t, layer.CreateOptions{Shards: 3}))
}

func buildInteractive(t *testing.T, db *layer.Database) {
	const docs, writers, writes = 200, 3, 150
	edits := make([]layer.Edit, docs)
	for i := range edits {
		edits[i] = layer.Edit{ID: fmt.Sprintf("%03d", i), Body: []byte(`{"n":-1}`)}
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	save(t, db, interactive)
	ix := db.Index(mustDesign(t, db, "d"))
	var load, builder sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		load.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for n := range writes {
				id := fmt.Sprintf("%03d", rng.IntN(docs/writers)*writers+w) // its own documents
				e := layer.Edit{ID: id, Body: fmt.Appendf(nil, `{"n":%d,"bad":%t}`, n, rng.IntN(9) == 0)}
				if old, err := db.Get(t.Context(), id, layer.GetOptions{}); err == nil {
					e.Rev = old.Rev
					if e.Deleted = rng.IntN(6) == 0; rng.IntN(12) == 0 {
						if _, err := db.Purge(t.Context(), id, []layer.Rev{old.Rev}); err != nil {
							t.Error(err)
						}
						continue
					}
				}
				if _, err := db.Put(t.Context(), e, layer.WriteOptions{}); err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
			}
		})
	}
	builder.Go(func() {
		for token := int64(1); !stop.Load(); token++ {
			b, err := ix.StartBuild(t.Context(), token)
			if err != nil {
				t.Error(err)
				return
			}
			for _, shard := range b.Shards {
				for steps := 0; steps < int(token); steps++ { // the first ones are abandoned early
					r, err := b.Step(t.Context(), shard, 4)
					if err != nil || r.Done {
						if err != nil && layer.KindOf(err) != layer.Conflict {
							t.Error(err)
						}
						break
					}
				}
			}
			b.Close()
			switch token % 4 {
			case 1:
				if _, err := db.Reshard(t.Context(), 1+int(token)%5); err != nil {
					t.Error(err)
				}
			case 2: // retired and created again
				save(t, db, `{"_id":"_design/d","_deleted":true}`)
				save(t, db, interactive)
			}
		}
	})
	load.Wait()
	stop.Store(true)
	builder.Wait()
	if ok, err := ix.CatchUp(t.Context(), 10); ok || err != nil {
		t.Errorf("caught up during a build: %v", err)
	}
	build(t, ix, 1_000_000, 30)
	checkInteractive(t, db, ix)
	for n := range 20 {
		save(t, db, fmt.Sprintf(`{"_id":"%03d","n":%d}`, n, n))
	}
	checkInteractive(t, db, ix)
}

// checkInteractive compares a ready index with a recomputation.
func checkInteractive(t *testing.T, db *layer.Database, ix *layer.Index) {
	t.Helper()
	state := wantReady(t, ix)
	got, want := rows(t, ix, layer.ViewQuery{View: "n", IncludeDocs: true}), recomputed(t, db, interactive)
	if !slices.Equal(got, want) {
		more := func(in, than []string) []string {
			return slices.DeleteFunc(slices.Clone(in), func(row string) bool { return slices.Contains(than, row) })
		}
		t.Errorf("%d rows, a recomputation has %d\nonly in the index         %q\nonly in the recomputation %q",
			len(got), len(want), more(got, want), more(want, got))
	}
	again, err := db.Index(mustDesign(t, db, "recomputed")).State(t.Context())
	if err != nil || !reflect.DeepEqual(again.Views, state.Views) {
		t.Errorf("counted %+v, a recomputation %+v, %v", state.Views, again.Views, err)
	}
}

// Emissions that exceed a transaction: bulk writes are divided. A single document is refused with an error that says
// so, and nothing of it is written.
func TestInteractive_size(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	design := `{"_id":"_design/d","options":{"interactive":true},"views":{`
	const views = 12
	for i := range views {
		design += fmt.Sprintf(`"v%d":{"map":"function(doc) { for (var i = 0; i < doc.n; i++) emit(%d, 'x'.repeat(60000)); }"},`, i, i)
	}
	save(t, db, design[:len(design)-1]+"}}")
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	edits := make([]layer.Edit, 20)
	for i := range edits {
		edits[i] = layer.Edit{ID: fmt.Sprintf("%03d", i), Body: []byte(`{"n":1}`)}
	}
	edits[7].Body = []byte(`{"n":15}`)
	results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if (i == 7) != (layer.KindOf(r.Err) == layer.TooLarge) || i != 7 && r.Err != nil {
			t.Errorf("%d: %v", i, r.Err)
		}
	}
	_, err = db.Put(t.Context(), edits[7], layer.WriteOptions{})
	var refused *layer.Error
	if !errors.As(err, &refused) || refused.Kind != layer.TooLarge || !strings.Contains(refused.Reason, "interactive") {
		t.Errorf("one document: %v", err)
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{Atomic: true}); layer.KindOf(err) != layer.TooLarge &&
		err != nil {
		t.Errorf("atomic: %v", err)
	}
	if state := wantReady(t, ix); state.Views[0].Rows != 19 || state.Views[views-1].Rows != 19 {
		t.Errorf("state %+v", state)
	}
	if _, err := db.Get(t.Context(), "007", layer.GetOptions{}); layer.KindOf(err) != layer.NotFound {
		t.Errorf("the refused document: %v", err)
	}
}

// A query right after a write reads a ready index in one transaction, and catching up writes nothing.
func TestInteractive_noCatchUp(t *testing.T) {
	e := &countingEngine{Engine: mustEngineWith(t, false)}
	sandbox := script.New(script.Options{})
	defer sandbox.Close()
	store, err := layer.Open(t.Context(), e, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := mustCreate(t, store, "db", layer.CreateOptions{})
	save(t, db, interactive)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	put(t, db, `{"_id":"a","n":1}`)
	before := e.begun.Load()
	wantReady(t, ix)
	if got := rows(t, ix, layer.ViewQuery{View: "n", Key: []byte("1")}); len(got) != 1 {
		t.Errorf("rows %q", got)
	}
	if n := e.begun.Load() - before; n != 2 { // one to learn that it is ready, one to read
		t.Errorf("%d transactions", n)
	}
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil || len(e.counts.sets) > 0 {
		t.Errorf("caught up: %t, %v, sets %v", ok, err, e.counts.sets)
	}
}

// An imported database's interactive indexes are created with it, and built from there.
func TestInteractive_import(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db, interactive)
	for n := range 10 {
		save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, n, n))
	}
	var file bytes.Buffer
	if err := db.Export(t.Context(), &file, nil); err != nil {
		t.Fatal(err)
	}
	imported, err := openViewStore(t, mustEngine(t)).Import(t.Context(), "imported", bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	save(t, imported, `{"_id":"3","n":30}`)
	ix := imported.Index(mustDesign(t, imported, "d"))
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	checkInteractive(t, imported, ix)
	save(t, imported, `{"_id":"4","n":40}`)
	checkInteractive(t, imported, ix)
}

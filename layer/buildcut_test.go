package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// If the engine does not support snapshots, a build works from a cut: its rows are those of the documents at that time,
// whatever is written in the meantime. Steps of a first build do not read index entries of documents, because there are
// none.
func TestBuild_asOfCut(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)} // which does not support snapshots
	db := openViewsOn(t, e, layer.CreateOptions{})
	save(t, db, byN)
	const docs = 1500
	write := func(generation int) {
		t.Helper()
		var edits []layer.Edit
		for i := range docs {
			text := fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, generation*docs+i)
			if generation > 0 {
				old, err := db.Get(t.Context(), fmt.Sprintf("%04d", i), layer.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				text = fmt.Sprintf(`{"_rev":"%s",%s`, old.Rev, text[1:])
			}
			edits = append(edits, edit(t, text))
		}
		for part := range slices.Chunk(edits, 500) {
			mustBulk(t, db, part, layer.WriteOptions{})
		}
	}
	write(0)
	ix := db.Index(mustDesign(t, db, "d"))
	check := func(generation int) {
		t.Helper()
		got := rows(t, ix, layer.ViewQuery{View: "n"})
		want := make([]string, docs)
		for i := range want {
			want[i] = fmt.Sprintf("%04d %d null", i, generation*docs+i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d rows, not the %d of generation %d", len(got), docs, generation)
		}
		if state, err := ix.State(t.Context()); err != nil || state.Views[0].Rows != docs {
			t.Errorf("state %+v, %v", state, err)
		}
	}
	for generation := range 2 {
		b, err := ix.StartBuild(t.Context(), int64(generation)+1)
		if err != nil {
			t.Fatal(err)
		}
		e.forget()
		r, err := b.Step(t.Context(), b.Shards[0], 100)
		// at most the bodies
		if gets := e.gets.Load(); err != nil || r.Documents != 100 || generation == 0 && gets > 150 {
			t.Errorf("the first %d documents: %d reads, %v", r.Documents, gets, err)
		}
		write(generation + 1)
		finish(t, b, 100)
		b.Close()
		check(generation)
	}
	build(t, ix, 3, 1000)
	check(2)
}

// A build with a cut passes map functions the conflicts that a document had at that time, like an undisturbed build.
func TestBuild_conflictsAsOfCut(t *testing.T) {
	const many = 900 // more than two parts of a copy
	db := openViewsOn(t, mustEngineWith(t, false), layer.CreateOptions{})
	for _, name := range []string{"disturbed", "undisturbed"} {
		save(t, db, fmt.Sprintf(`{"_id":"_design/%s","views":{"n":{"map":"function(doc) { // %[1]s\n`+
			`emit(null, [doc._conflicts, doc._deleted_conflicts]) }"}}}`, name))
	}
	branches := func(id, hash string, n int, deleted bool) {
		t.Helper()
		edits := make([]layer.Edit, n)
		for i := range edits {
			edits[i] = replicated(t, fmt.Sprintf(
				`{"_id":"%s","_rev":"2-%s%d","_deleted":%v,"_revisions":{"start":2,"ids":["%[2]s%[3]d","a"]}}`,
				id, hash, i, deleted))
		}
		mustBulk(t, db, edits, layer.WriteOptions{Replicated: true})
	}
	for _, id := range []string{"edited", "untouched", "resolved", "purged"} {
		branches(id, "live", 3, false)
		branches(id, "deleted", 2, true)
	}
	branches("many", "live", many, false)
	change := func(n int) {
		t.Helper()
		push(t, db, fmt.Sprintf(`{"_id":"edited","_rev":"%d-x","_revisions":{"start":%[1]d,"ids":["x","y"]}}`, n+3))
		save(t, db, fmt.Sprintf(`{"_id":"many","n":%d}`, n))
		del := edit(t, fmt.Sprintf(`{"_id":"resolved","_rev":"2-live%d","_deleted":true}`, n))
		if _, err := db.Put(t.Context(), del, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		loser := replicated(t, fmt.Sprintf(`{"_id":"purged","_rev":"2-live%d"}`, n)).Rev
		if purged, err := db.Purge(t.Context(), "purged", []layer.Rev{loser}); err != nil || len(purged) != 1 {
			t.Fatal(purged, err)
		}
	}
	ix, other := db.Index(mustDesign(t, db, "disturbed")), db.Index(mustDesign(t, db, "undisturbed"))
	for n := range 2 { // a scan, and then the feed
		build(t, other, int64(n)+1, 100)
		want := rows(t, other, layer.ViewQuery{View: "n"})
		b, err := ix.StartBuild(t.Context(), int64(n)+1)
		if err != nil {
			t.Fatal(err)
		}
		change(n)
		finish(t, b, 2)
		b.Close()
		if got := rows(t, ix, layer.ViewQuery{View: "n"}); len(want) != 5 || !slices.Equal(got, want) {
			t.Errorf("build %d:\ngot  %.400q\nwant %.400q", n, got, want)
		}
	}
}

// Compaction keeps what a build with a cut needs, and drops the cut of a build without a job. That build ends, and the
// next one continues its progress with a newer cut.
func TestBuild_compactedMeanwhile(t *testing.T) {
	for _, job := range []bool{true, false} {
		t.Run(fmt.Sprintf("a job: %v", job), func(t *testing.T) {
			engine := mustEngineWith(t, false)
			store := openViewStore(t, engine)
			db := mustCreate(t, store, "db", layer.CreateOptions{})
			save(t, db, byN)
			for i := range 20 {
				save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, i))
			}
			ix := db.Index(mustDesign(t, db, "d"))
			token := int64(1)
			if job {
				j := layer.IndexJob{Database: db.Name(), Signature: ix.Design().Signature}
				if err := store.Enqueue(t.Context(), layer.IndexJobs, j.ID(), j.Encode()); err != nil {
					t.Fatal(err)
				}
				claimed, err := layer.ClaimJob(t.Context(), store, layer.IndexJobs, layer.Worker{Name: "me"})
				if err != nil || claimed == nil {
					t.Fatal(claimed, err)
				}
				token = claimed.Token
			}
			b, err := ix.StartBuild(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if r, err := b.Step(t.Context(), b.Shards[0], 5); err != nil || r.Documents != 5 {
				t.Fatal(r, err)
			}
			for i := range 20 { // twice: the bodies in between are not needed
				save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, 100+i))
				save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, 200+i))
			}
			if err := db.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, err := layer.CountMoved(t.Context(), db); (n > 0) != job || err != nil {
				t.Errorf("%d copies of entries, %v", n, err)
			}
			if !job {
				if _, err := b.Step(t.Context(), b.Shards[0], 5); layer.KindOf(err) != layer.Conflict {
					t.Errorf("a step of a build that was given up: %v", err)
				}
				if err := b.Finish(t.Context()); layer.KindOf(err) != layer.Conflict {
					t.Errorf("the end of a build that was given up: %v", err)
				}
				token++
			}
			build(t, ix, token, 5)
			want := 200
			if job {
				want = 0
			}
			for i, row := range rows(t, ix, layer.ViewQuery{View: "n"}) {
				if row != fmt.Sprintf("%02d %d null", i, want+i) {
					t.Errorf("row %d: %s", i, row)
				}
			}
			if err := db.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, err := layer.CountMoved(t.Context(), db); n > 0 || err != nil {
				t.Errorf("in the end %d copies of entries, %v", n, err)
			}
			if n := countKeys(t, engine, "documents"); n != 21 {
				t.Errorf("in the end %d bodies", n)
			}
		})
	}
}

// A query with documents, on a node that has not built the index, returns each row with the document that it was made
// from, whether or not the engine supports snapshots.
func TestIndex_documentsElsewhere(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngineWith(t, snapshots)
			db := openViewsOn(t, engine, layer.CreateOptions{})
			save(t, db, byN)
			const docs = 50
			write := func(n int) {
				t.Helper()
				for i := range docs {
					save(t, db, fmt.Sprintf(`{"_id":"%02d","n":%d}`, i, n+i))
				}
			}
			write(0)
			build(t, db.Index(mustDesign(t, db, "d")), 1, 100)
			write(100)
			there, err := openBeside(t, engine).Database(t.Context(), db.Name())
			if err != nil {
				t.Fatal(err)
			}
			ix := there.Index(mustDesign(t, there, "d"))
			got := rows(t, ix, layer.ViewQuery{View: "n", IncludeDocs: true, Fresh: true})
			for i, row := range got {
				if want := fmt.Sprintf(`%02d %d null {"n":%[2]d}`, i, 100+i); row != want {
					t.Errorf("%s, want %s", row, want)
				}
			}
			if len(got) != docs {
				t.Errorf("%d rows", len(got))
			}
		})
	}
}

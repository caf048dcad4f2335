package sqlreads_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

func TestDatabase_Snapshot(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "d", `{"_id":"_design/v","views":{
		"n":{"map":"function (doc) { emit(doc._id, doc.n) }","reduce":"_sum"},
		"m":{"map":"function (doc) { emit(doc.n) }"}}}`, `{"_id":"a","n":1}`, `{"_id":"b","n":2}`)
	put(t, db, `{"_id":"_design/other","views":{"o":{"map":"function (doc) { emit(doc._id) }"}}}`, false)
	live := open(t, s, "d")
	views := []exec.ViewUse{{Design: "v"}}
	snap, err := live.(exec.Snapshotter).Snapshot(t.Context(), views, true)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	all := func(d exec.Database) string {
		var row exec.Row
		found, err := d.Document(t.Context(), "a", true, &row)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := d.AllDocs(t.Context(), exec.DocsRead{WithDoc: true, WithRev: true})
		text := fmt.Sprint(found, string(row.Doc), "\n", drain(t, docs, err, func(r exec.Row) string {
			return r.ID + r.Rev + string(r.Doc)
		}), "\n")
		changes, err := d.Changes(t.Context(), exec.ChangesRead{})
		text += drain(t, changes, err, func(r exec.Row) string { return r.ID + r.Seq }) + "\n"
		lost, err := d.Conflicts(t.Context(), exec.DocsRead{})
		text += drain(t, lost, err, id) + "\n"
		rows, err := d.View(t.Context(), exec.ViewRead{Design: "v", View: "n", WithDoc: true})
		text += drain(t, rows, err, func(r exec.Row) string { return r.ID + string(r.Value) + string(r.Doc) }) + "\n"
		sum, err := d.(exec.Reducer).Reduce(t.Context(), exec.ReduceRead{Design: "v", View: "n"})
		return text + drain(t, sum, err, func(r exec.Row) string { return string(r.Value) })
	}
	was := all(live)
	if at := all(snap); at != was {
		t.Errorf("the snapshot has\n%s\nnot\n%s", at, was)
	}
	put(t, db, `{"_id":"b","_rev":"1-0","n":9}`, true)
	put(t, db, `{"_id":"c","n":3}`, false)
	doc, err := db.Design(t.Context(), "_design/v")
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, `{"_id":"_design/v","_rev":"`+doc.Rev.String()+`","views":{"new":{"map":"function (doc) {}"}}}`, false)
	if at := all(snap); at != was {
		t.Errorf("after writes the snapshot has\n%s\nnot\n%s", at, was)
	}
	// A view that was not brought up to date has no rows of that moment.
	if _, err := snap.View(t.Context(), exec.ViewRead{Design: "other", View: "o"}); exec.KindOf(err) != exec.Stale {
		t.Errorf("a view whose index is behind: %v", err)
	}
	if _, err := snap.Changes(t.Context(), exec.ChangesRead{Follow: true}); exec.KindOf(err) != exec.Unsupported {
		t.Errorf("a feed without end: %v", err)
	}
	if err := s.Store.Delete(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	if at := all(snap); at != was {
		t.Errorf("after the database was deleted the snapshot has\n%s\nnot\n%s", at, was)
	}
	snap.Close()
	snap.Close()
	if rows, err := snap.AllDocs(t.Context(), exec.DocsRead{}); err == nil {
		var row exec.Row
		if err = rows.Next(t.Context(), &row); err == nil {
			t.Error("a closed snapshot is read")
		}
		rows.Close()
	}
}

// TestDatabase_SnapshotBehind checks that an exact snapshot fails if writers stay ahead of the index, and that a
// snapshot that need not be exact succeeds.
func TestDatabase_SnapshotBehind(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "d", `{"_id":"_design/v","views":{"n":{"map":"function (doc) { emit(doc._id, doc.n) }"}}}`,
		`{"_id":"a","n":1}`)
	ensure, n := s.Ensure, 0
	s.Ensure = func(ctx context.Context, d *layer.Database, design *layer.Design, mode exec.UpdateMode) error {
		err := ensure(ctx, d, design, mode)
		n++
		put(t, db, fmt.Sprintf(`{"_id":"x%d"}`, n), false)
		return err
	}
	live := open(t, s, "d").(exec.Snapshotter)
	views := []exec.ViewUse{{Design: "v"}}
	if _, err := live.Snapshot(t.Context(), views, true); exec.KindOf(err) != exec.Stale {
		t.Errorf("an exact snapshot: %v", err)
	}
	snap, err := live.Snapshot(t.Context(), views, false)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	rows, err := snap.View(t.Context(), exec.ViewRead{Design: "v", View: "n"})
	if got := drain(t, rows, err, id); got == "" {
		t.Error("no rows")
	}
	lazy, err := live.Snapshot(t.Context(), []exec.ViewUse{{Design: "v", Update: exec.UpdateFalse}}, true)
	if err != nil {
		t.Fatal(err)
	}
	lazy.Close()
}

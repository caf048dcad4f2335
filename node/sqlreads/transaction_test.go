package sqlreads_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query/exec"
)

// beginTransaction begins a transaction of a user at the present moment.
func beginTransaction(tb testing.TB, s *sqlreads.Source, user layer.UserCtx, name string) exec.Transaction {
	tb.Helper()
	db, err := s.Catalog(user, nil).Database(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	snap, err := db.(exec.Snapshotter).Snapshot(tb.Context(), nil, true)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(snap.Close)
	x, err := snap.(exec.Writable).Begin()
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func write(tb testing.TB, x exec.Transaction, edits ...exec.Edit) []exec.Written {
	tb.Helper()
	w, err := x.Write(tb.Context(), edits)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// What a write changes and keeps of a document, and what it refuses.
func TestTransaction_edits(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "db", `{"_id":"a","v":1}`, `{"_id":"with","v":1,"_attachments":{"x.txt":{"data":"aGVsbG8="},"y.txt":{"data":"eQ=="}}}`)
	rev := func(id string) string {
		doc, err := db.Get(t.Context(), id, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Rev.String()
	}
	text := func(id string) string {
		doc, err := db.Get(t.Context(), id, layer.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return string(doc.AppendJSON(nil))
	}
	for _, c := range []struct {
		name string
		edit exec.Edit
		want string // a part of the document, or of the error
		kind exec.Kind
	}{
		{"an insert", exec.Edit{ID: "n", Doc: []byte(`{"v":2}`)}, `"v":2`, 0},
		{"an insert whose id is in the document", exec.Edit{Doc: []byte(`{"_id":"m","v":2}`)}, `"_id":"m"`, 0},
		{"an insert without an id", exec.Edit{Doc: []byte(`{"v":3}`)}, `"v":3`, 0},
		{"an existing id", exec.Edit{ID: "a", Doc: []byte(`{}`)}, "already exists", exec.Exists},
		{"another id", exec.Edit{ID: "a2", Doc: []byte(`{"_id":"b"}`)}, "member _id", exec.Refused},
		{"an insert with a revision", exec.Edit{ID: "a2", Doc: []byte(`{"_rev":"1-a"}`)}, "_rev", exec.Refused},
		{"an update", exec.Edit{ID: "a", Rev: rev("a"), Doc: []byte(`{"v":4}`)}, `"v":4`, 0},
		{"an update by a text with its revision",
			exec.Edit{ID: "n", Rev: "?", Doc: []byte(`{"_id":"n","_rev":"?","v":5}`)}, `"v":5`, 0},
		{"an update by an old text", exec.Edit{ID: "n", Rev: "?", Doc: []byte(`{"_rev":"1-0","v":6}`)}, "conflict",
			exec.Stale},
		{"attachments are kept", exec.Edit{ID: "with", Rev: "?", Doc: []byte(`{"v":7}`)}, `"x.txt"`, 0},
		{"a stub keeps one", exec.Edit{ID: "with", Rev: "?", Doc: []byte(`{"_attachments":{"x.txt":{"stub":true}}}`)},
			`"x.txt"`, 0},
		{"an unknown stub", exec.Edit{ID: "with", Rev: "?", Doc: []byte(`{"_attachments":{"z.txt":{"stub":true}}}`)},
			"stub", exec.Refused},
		{"none of them", exec.Edit{ID: "with", Rev: "?", Doc: []byte(`{"_attachments":{}}`)}, `-`, 0},
		{"a new one", exec.Edit{ID: "with", Rev: "?", Doc: []byte(`{"_attachments":{"n":{"data":"eA=="}}}`)}, `"n"`, 0},
		{"a deletion in the text", exec.Edit{ID: "a", Rev: "?", Doc: []byte(`{"_deleted":true}`)}, "DELETE", exec.Refused},
		{"an unknown member", exec.Edit{ID: "a", Rev: "?", Doc: []byte(`{"_x":1}`)}, "_x", exec.Refused},
		{"no object", exec.Edit{ID: "q", Doc: []byte(`[1]`)}, "object", exec.Refused},
		{"a design document", exec.Edit{ID: "_design/d", Doc: []byte(`{}`)}, "HTTP", exec.Unsupported},
		{"a local document", exec.Edit{ID: "_local/d", Doc: []byte(`{}`)}, "HTTP", exec.Unsupported},
		{"a reserved id", exec.Edit{ID: "_x", Doc: []byte(`{}`)}, "underscore", exec.Refused},
		{"a delete", exec.Edit{ID: "a", Rev: "?", Deleted: true}, "", 0},
	} {
		if c.edit.Rev == "?" {
			c.edit.Rev = rev(c.edit.ID)
			c.edit.Doc = []byte(strings.ReplaceAll(string(c.edit.Doc), `"_rev":"?"`, `"_rev":"`+c.edit.Rev+`"`))
		}
		x := beginTransaction(t, s, root, "db")
		w, err := x.Write(t.Context(), []exec.Edit{c.edit})
		if err != nil || c.kind != 0 {
			if exec.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err := x.Commit(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := text(w[0].ID); !strings.Contains(got, c.want) || !c.edit.Deleted && (got != string(w[0].Doc) ||
			!strings.Contains(got, w[0].Rev)) {
			t.Errorf("%s: %s, returned %s", c.name, got, w[0].Doc)
		}
	}
	if got := text("a"); got != "deleted" {
		t.Errorf("a is %s", got)
	}
}

// A transaction reads what the stored documents and its own writes are together.
func TestTransaction_reads(t *testing.T) {
	s := newSource(t)
	stored := []string{"b", "d", "f", "h", "j"}
	for _, id := range stored {
		stored[slices.Index(stored, id)] = fmt.Sprintf(`{"_id":%q,"v":0}`, id)
	}
	live := create(t, s, "db", append(stored, `{"_id":"_design/x"}`)...)
	held := beginTransaction(t, s, root, "db")
	rapid.Check(t, func(rt *rapid.T) {
		x := beginTransaction(t, s, root, "db")
		model := map[string]string{}
		for _, id := range []string{"b", "d", "f", "h", "j"} {
			model[id] = "0"
		}
		for i := range rapid.IntRange(0, 6).Draw(rt, "writes") {
			id := string(rune('a' + rapid.IntRange(0, 10).Draw(rt, "id")))
			var row exec.Row
			there, err := x.Document(t.Context(), id, false, &row)
			if err != nil || there != (model[id] != "") {
				rt.Fatal(id, there, err)
			}
			e := exec.Edit{ID: id, Rev: row.Rev, Doc: fmt.Appendf(nil, `{"v":%d}`, i+1)}
			model[id] = fmt.Sprint(i + 1)
			if there && rapid.Bool().Draw(rt, "delete") {
				e.Deleted, e.Doc = true, nil
				delete(model, id)
			}
			write(t, x, e)
		}
		for _, noDesigns := range []bool{true, false} {
			n, err := x.(exec.Counter).Count(t.Context(), noDesigns)
			if want := len(model) + map[bool]int{false: 1}[noDesigns]; err != nil || n != int64(want) {
				rt.Fatalf("%d documents, %v, want %d", n, err, want)
			}
		}
		ids := slices.Sorted(maps.Keys(model))
		read := exec.DocsRead{WithDoc: true, WithRev: true, NoDesigns: true, Descending: rapid.Bool().Draw(rt, "descending"),
			Limit: rapid.Int64Range(0, 4).Draw(rt, "limit"), Skip: rapid.Int64Range(0, 3).Draw(rt, "skip")}
		if rapid.Bool().Draw(rt, "ids") {
			read.IDs = []string{"a", "d", "e", "k"}
			ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(read.IDs, id) })
		} else {
			read.Low, read.High = rapid.SampledFrom([]string{"", "c", "d"}).Draw(rt, "low"),
				rapid.SampledFrom([]string{"", "h", "i"}).Draw(rt, "high")
			ids = slices.DeleteFunc(ids, func(id string) bool {
				return id < read.Low || read.High != "" && id >= read.High
			})
		}
		if read.Descending {
			slices.Reverse(ids)
			slices.Reverse(read.IDs)
		}
		ids = ids[min(int(read.Skip), len(ids)):]
		if read.Limit > 0 {
			ids = ids[:min(int(read.Limit), len(ids))]
		}
		rows, err := x.AllDocs(t.Context(), read)
		if err != nil {
			rt.Fatal(err)
		}
		defer rows.Close()
		for _, id := range append(ids, "") {
			var row exec.Row
			err := rows.Next(t.Context(), &row)
			if id == "" {
				if !errors.Is(err, io.EOF) {
					rt.Fatalf("after the last row: %v %v", row, err)
				}
				break
			}
			want := fmt.Sprintf(`{"_id":%q,"_rev":%q,"v":%s}`, id, row.Rev, model[id])
			if err != nil || row.ID != id || string(row.Doc) != want {
				rt.Fatalf("%s %s, %v; want %s", row.ID, row.Doc, err, want)
			}
		}
	})
	// Documents written since do not count, and are a conflict of a transaction that has counted them.
	put(t, live, `{"_id":"later"}`, false)
	if n, err := held.(exec.Counter).Count(t.Context(), true); err != nil || n != int64(len(stored)) {
		t.Errorf("%d documents, %v", n, err)
	}
	write(t, held, exec.Edit{ID: "mine", Doc: []byte("{}")})
	if err := held.Commit(t.Context()); exec.KindOf(err) != exec.Stale {
		t.Errorf("commit after another write: %v", err)
	}
	x := beginTransaction(t, s, root, "db")
	others := map[string]func(ctx context.Context) (exec.Rows, error){
		"changes": func(ctx context.Context) (exec.Rows, error) { return x.Changes(ctx, exec.ChangesRead{}) },
		"conflicts": func(ctx context.Context) (exec.Rows, error) {
			return x.Conflicts(ctx, exec.DocsRead{})
		},
	}
	for name, read := range others {
		rows, err := read(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		rows.Close()
	}
	write(t, x, exec.Edit{ID: "new", Doc: []byte("{}")})
	for name, read := range others {
		if _, err := read(t.Context()); exec.KindOf(err) != exec.Unsupported {
			t.Errorf("%s after a write: %v", name, err)
		}
	}
}

// A transaction conflicts with writers of what it has read.
func TestTransaction_conflicts(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "db", `{"_id":"a"}`, `{"_id":"b"}`)
	for name, read := range map[string]func(x exec.Transaction) error{
		"the document": func(x exec.Transaction) error {
			_, err := x.Document(t.Context(), "a", true, new(exec.Row))
			return err
		},
		"a range": func(x exec.Transaction) error {
			rows, err := x.AllDocs(t.Context(), exec.DocsRead{High: "b"})
			if err == nil {
				err = rows.Close()
			}
			return err
		},
		"ids": func(x exec.Transaction) error {
			rows, err := x.AllDocs(t.Context(), exec.DocsRead{IDs: []string{"a"}})
			if err == nil {
				err = rows.Close()
			}
			return err
		},
		"changes": func(x exec.Transaction) error {
			rows, err := x.Changes(t.Context(), exec.ChangesRead{})
			if err == nil {
				err = rows.Close()
			}
			return err
		},
		"nothing": func(exec.Transaction) error { return nil },
	} {
		x := beginTransaction(t, s, root, "db")
		if err := read(x); err != nil {
			t.Fatal(name, err)
		}
		doc, err := db.Get(t.Context(), "a", layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, db, fmt.Sprintf(`{"_id":"a","_rev":%q}`, doc.Rev), false)
		write(t, x, exec.Edit{ID: "w" + name, Doc: []byte("{}")})
		want := exec.Stale
		if name == "nothing" {
			want = 0
		}
		if err := x.Commit(t.Context()); err != nil != (want != 0) || err != nil && exec.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Validation functions see the writer, and their messages are those of the errors.
func TestTransaction_validated(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "db", `{"_id":"_design/v","validate_doc_update":"function(n, o, u) { if (n.bad) throw({forbidden: 'no ' + n.bad}); if (n.own && u.name != n.own) throw({unauthorized: 'not ' + u.name}); }"}`)
	x := beginTransaction(t, s, root, "db")
	write(t, x, exec.Edit{ID: "ok", Doc: []byte(`{"own":"root"}`)})
	for doc, want := range map[string]exec.Kind{`{"bad":"x"}`: exec.Refused, `{"own":"jan"}`: exec.Forbidden} {
		_, err := x.Write(t.Context(), []exec.Edit{{ID: "fine", Doc: []byte("{}")}, {ID: "n", Doc: []byte(doc)}})
		if exec.KindOf(err) != want || !strings.HasPrefix(err.Error(), "no") {
			t.Errorf("%s: %v", doc, err)
		}
	}
	// What is refused has a hint that says how to do it.
	for _, e := range []exec.Edit{{ID: "_design/d", Doc: []byte("{}")}, {ID: "_local/l", Doc: []byte("{}")},
		{ID: "n", Doc: []byte(`{"_id":"ok"}`)}, {ID: "n", Doc: []byte(`{"_rev":"1-aa"}`)}} {
		var re *exec.ReadError
		if _, err := x.Write(t.Context(), []exec.Edit{e}); !errors.As(err, &re) || re.Hint == "" {
			t.Errorf("%s %s: %v", e.ID, e.Doc, err)
		}
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := db.Info(t.Context())
	if err != nil || info.DocCount != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	for _, name := range []string{"_users", "_replicator"} {
		create(t, s, name)
		other, err := s.Catalog(root, nil).Database(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := other.(exec.Snapshotter).Snapshot(t.Context(), nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := snap.(exec.Writable).Begin(); exec.KindOf(err) != exec.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
		snap.Close()
	}
}

// TestTransaction_At checks that a cursor sees the writes before it, and none that come later.
func TestTransaction_At(t *testing.T) {
	s := newSource(t)
	db := create(t, s, "db", `{"_id":"a","v":1}`, `{"_id":"b","v":1}`, `{"_id":"c","v":1}`)
	x := beginTransaction(t, s, root, "db")
	rev := func(id string) string {
		doc, err := db.Get(t.Context(), id, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Rev.String()
	}
	before := x.At(x.Mark())
	w := write(t, x, exec.Edit{ID: "d", Doc: []byte(`{"v":2}`)}, exec.Edit{ID: "a", Rev: rev("a"), Deleted: true})
	between := x.At(x.Mark())
	write(t, x, exec.Edit{ID: "b", Rev: rev("b"), Deleted: true},
		exec.Edit{ID: "d", Rev: w[0].Rev, Doc: []byte(`{"v":3}`)},
		exec.Edit{ID: "e", Doc: []byte(`{"v":3}`)})
	for _, c := range []struct {
		name string
		db   exec.Database
		want []string
	}{
		{"before", before, []string{"a 1", "b 1", "c 1"}},
		{"between", between, []string{"b 1", "c 1", "d 2"}},
		{"now", x, []string{"c 1", "d 3", "e 3"}},
	} {
		rows, err := c.db.AllDocs(t.Context(), exec.DocsRead{WithDoc: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			var row exec.Row
			if err := rows.Next(t.Context(), &row); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			_, v, _ := strings.Cut(string(row.Doc), `"v":`)
			got = append(got, row.ID+" "+v[:1])
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if n, err := c.db.(exec.Counter).Count(t.Context(), true); err != nil || n != 3 {
			t.Errorf("%s: %d documents: %v", c.name, n, err)
		}
		var row exec.Row
		if found, err := c.db.Document(t.Context(), "e", false, &row); err != nil || found != (c.name == "now") {
			t.Errorf("%s: e is there: %t, %v", c.name, found, err)
		}
	}
}

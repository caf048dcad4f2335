package layer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// begin begins a transaction of several edits at the present moment.
func begin(tb testing.TB, s *layer.Store, d *layer.Database) (x *layer.Transaction, end func()) {
	tb.Helper()
	pinned, release, err := s.Pin(tb.Context(), layer.PinOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	at, err := pinned.Database(tb.Context(), d.Name())
	if err != nil {
		tb.Fatal(err)
	}
	if x, err = d.Begin(at, nil); err != nil {
		tb.Fatal(err)
	}
	return x, release
}

// calm keeps the faults and the short transactions of other runs of the suite from a test. They end a transaction that
// a client has read in, which only the client can try again. TestTransaction_faults has faults of its own.
func calm(t *testing.T) {
	t.Helper()
	t.Setenv(faultkv.Variable, "")
	t.Setenv(faultkv.TimeVariable, "")
}

// edits of a transaction leave the same documents, revisions, index rows and counters as the same edits one by one.
func TestTransaction_edits(t *testing.T) {
	calm(t)
	s := openViewStore(t, mustEngine(t))
	var dbs [2]*layer.Database
	for i, name := range []string{"a", "b"} {
		dbs[i] = mustCreate(t, s, name, layer.CreateOptions{Shards: 2})
		save(t, dbs[i], interactive)
		if ok, err := dbs[i].Index(mustDesign(t, dbs[i], "d")).CatchUp(t.Context(), 100); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := func(id string) string { return fmt.Sprintf("%s%d", id, round) }
		for _, d := range dbs {
			save(t, d, fmt.Sprintf(`{"_id":%q,"n":1}`, name("old")))
			save(t, d, fmt.Sprintf(`{"_id":%q,"n":2}`, name("gone")))
			save(t, d, fmt.Sprintf(`{"_id":%q,"_deleted":true}`, name("gone")))
			for _, rev := range []string{"1-aa", "1-bb"} {
				doc := fmt.Sprintf(`{"_id":%q,"_rev":%q,"n":3}`, name("many"), rev)
				if _, err := d.Put(t.Context(), replicated(t, doc), layer.WriteOptions{Replicated: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		current := func(x *layer.Transaction, id string) layer.Rev {
			if own, ok := x.Own(id); ok {
				return own.Rev
			}
			doc, err := dbs[0].Get(t.Context(), id, layer.GetOptions{})
			if err != nil {
				return layer.Rev{}
			}
			return doc.Rev
		}
		x, end := begin(t, s, dbs[0])
		defer end()
		type step struct {
			edit layer.Edit
			rev  layer.Rev
		}
		var steps []step
		marks := []int{0}
		type seen struct {
			rev layer.Rev
			own bool
		}
		past := map[int]map[string]seen{} // by mark
		look := func(id string, at func(id string) (layer.OwnState, bool)) seen {
			own, ok := at(name(id))
			return seen{own.Rev, ok}
		}
		ids := []string{"old", "gone", "many", "new", "new2"}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "roll back") == 0 {
				mark := rapid.SampledFrom(marks).Draw(rt, "to")
				x.RollBack(mark)
				steps = steps[:mark]
				marks = slices.DeleteFunc(marks, func(m int) bool { return m > mark })
				continue
			}
			id := name(rapid.SampledFrom(ids).Draw(rt, "id"))
			e := layer.Edit{ID: id, Rev: current(x, id), KeepAttachments: true,
				Body: fmt.Appendf(nil, `{"n":%d}`, rapid.IntRange(0, 5).Draw(rt, "n"))}
			if !e.Rev.IsZero() && rapid.IntRange(0, 2).Draw(rt, "delete") == 0 {
				e = layer.Edit{ID: id, Rev: e.Rev, Deleted: true, Body: []byte("{}")}
			} else if rapid.IntRange(0, 3).Draw(rt, "attach") == 0 {
				e.Attachments = []layer.AttachmentEdit{{Name: "a", ContentType: "text/plain", Data: []byte(id)}}
			}
			revs, err := x.Write(t.Context(), []layer.Edit{e})
			if err != nil {
				rt.Fatalf("%+v: %v", e, err)
			}
			steps = append(steps, step{e, revs[0]})
			marks = append(marks, x.Mark())
			past[x.Mark()] = map[string]seen{}
			for _, id := range ids {
				past[x.Mark()][id] = look(id, x.Own)
			}
		}
		for _, mark := range marks {
			for _, id := range ids {
				at := func(id string) (layer.OwnState, bool) { return x.OwnAt(id, mark) }
				if got := look(id, at); got != past[mark][id] {
					rt.Fatalf("%s at mark %d is %v, was %v", id, mark, got, past[mark][id])
				}
			}
		}
		for _, st := range steps {
			r, err := dbs[1].Put(t.Context(), st.edit, layer.WriteOptions{})
			if err != nil || r != st.rev {
				rt.Fatalf("%+v: %s, %v; the transaction returned %s", st.edit, r, err, st.rev)
			}
		}
		if err := x.Commit(t.Context()); err != nil {
			rt.Fatal(err)
		}
		for _, id := range ids {
			id = name(id)
			var texts [2]string
			for i, d := range dbs {
				text, _ := firstOf(d, id)
				texts[i] = text
			}
			if texts[0] != texts[1] {
				rt.Fatalf("%s:\n%s\nwant\n%s", id, texts[0], texts[1])
			}
			if own, ok := x.Own(id); ok {
				text := ""
				if own.Doc != nil {
					text = string(own.Doc.AppendJSON(nil))
				}
				doc, err := dbs[0].Get(t.Context(), id, layer.GetOptions{})
				if err == nil && string(doc.AppendJSON(nil)) != text || err != nil && text != "" {
					rt.Fatalf("%s: the transaction saw %s, %v", id, text, err)
				}
			}
		}
		q := layer.ViewQuery{View: "n"}
		got := rows(t, dbs[0].Index(mustDesign(t, dbs[0], "d")), q)
		if want := rows(t, dbs[1].Index(mustDesign(t, dbs[1], "d")), q); !slices.Equal(got, want) {
			rt.Fatalf("index rows %q, want %q", got, want)
		}
		feed, _ := feedOf(t, dbs[0], layer.ChangesOptions{})
		if other, _ := feedOf(t, dbs[1], layer.ChangesOptions{}); len(feed) != len(other) {
			rt.Fatalf("feeds %q and %q", feed, other)
		}
	})
}

// The recorded end of the feed is its last entry, also if the last edit was of a document that the transaction had
// written before others.
func TestTransaction_feedEnd(t *testing.T) {
	calm(t)
	s := openViewStore(t, mustEngine(t))
	d := mustCreate(t, s, "a", layer.CreateOptions{Shards: 1})
	x, end := begin(t, s, d)
	defer end()
	for _, ids := range [][]string{{"a", "b", "c"}, {"a"}, {"b"}} {
		var edits []layer.Edit
		for _, id := range ids {
			e := edit(t, fmt.Sprintf(`{"_id":%q}`, id))
			if own, ok := x.Own(id); ok {
				e.Rev = own.Rev
			}
			edits = append(edits, e)
		}
		if _, err := x.Write(t.Context(), edits); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := d.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	feed, pass := feedOf(t, d, layer.ChangesOptions{})
	last := pass.LastSeq()
	if len(feed) != 3 || info.UpdateSeq.String() != last.String() {
		t.Errorf("%d changes up to %s, the database is at %s", len(feed), last, info.UpdateSeq)
	}
	if feed, _ = feedOf(t, d, layer.ChangesOptions{Since: last}); len(feed) != 0 {
		t.Errorf("after the last one: %q", feed)
	}
}

// firstOf returns all leaves of a document with their histories.
func firstOf(d *layer.Database, id string) (string, error) {
	doc, err := d.Get(context.Background(), id, layer.GetOptions{Revs: true, RevsInfo: true, Conflicts: true,
		DeletedConflicts: true})
	if err != nil {
		return err.Error(), err
	}
	return string(doc.AppendJSON(nil)) + fmt.Sprint(doc.Revs, doc.RevsInfo, doc.Conflicts, doc.DeletedConflicts), nil
}

// A transaction conflicts with writers of what it has read or written, and with no others.
func TestTransaction_conflicts(t *testing.T) {
	calm(t)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openViewStore(t, mustEngineWith(t, snapshots))
			d, err := s.Create(t.Context(), "db", layer.CreateOptions{Shards: 2})
			if err != nil {
				t.Fatal(err)
			}
			save(t, d, `{"_id":"a"}`)
			save(t, d, `{"_id":"m"}`)
			for _, c := range []struct {
				name  string
				reads func(r *layer.ReadSet)
				write string
				want  error
			}{
				{"nothing read", func(*layer.ReadSet) {}, `{"_id":"a","v":1}`, nil},
				{"a document", func(r *layer.ReadSet) { r.Document("a") }, `{"_id":"a","v":2}`, layer.ErrMoved},
				{"another document", func(r *layer.ReadSet) { r.Document("a") }, `{"_id":"m","v":3}`, nil},
				{"a missing document", func(r *layer.ReadSet) { r.Document("b") }, `{"_id":"b"}`, layer.ErrMoved},
				{"a range", func(r *layer.ReadSet) { r.Range("b", "n") }, `{"_id":"m","v":4}`, layer.ErrMoved},
				{"below a range", func(r *layer.ReadSet) { r.Range("b", "n") }, `{"_id":"a","v":5}`, nil},
				{"at the end of a range", func(r *layer.ReadSet) { r.Range("b", "n") }, `{"_id":"n"}`, nil},
				{"an open range", func(r *layer.ReadSet) { r.Range("n", "") }, `{"_id":"zz"}`, layer.ErrMoved},
				{"everything", func(r *layer.ReadSet) { r.Everything() }, `{"_id":"a","v":6}`, layer.ErrMoved},
				{"the written document", func(*layer.ReadSet) {}, `{"_id":"own"}`, layer.ErrMoved},
			} {
				x, end := begin(t, s, d)
				c.reads(x.Reads())
				e := edit(t, `{"_id":"own"}`)
				if doc, err := d.Get(t.Context(), "own", layer.GetOptions{}); err == nil {
					e.Rev = doc.Rev
				}
				if _, err := x.Write(t.Context(), []layer.Edit{e}); err != nil {
					t.Fatal(c.name, err)
				}
				save(t, d, c.write)
				if err := x.Commit(t.Context()); !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", c.name, err, c.want)
				}
				end()
			}
		})
	}
}

// Failed steps leave no trace, and what they report is what Put reports.
func TestTransaction_refused(t *testing.T) {
	calm(t)
	s := openViewStore(t, mustEngine(t))
	d, err := s.Create(t.Context(), "db", layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	save(t, d, `{"_id":"a"}`)
	x, end := begin(t, s, d)
	defer end()
	for _, c := range []struct {
		edits []layer.Edit
		want  layer.Kind
	}{
		{[]layer.Edit{{ID: "b", Body: []byte("{}")}, {ID: "a", Body: []byte("{}")}}, layer.Conflict},
		{[]layer.Edit{{ID: "a", Rev: layer.Rev{Pos: 1, ID: "ff"}, Body: []byte("{}")}}, layer.Conflict},
		{[]layer.Edit{{ID: "_x", Body: []byte("{}")}}, layer.Invalid},
		{[]layer.Edit{{ID: "_local/x", Body: []byte("{}")}}, layer.Invalid},
		{[]layer.Edit{{ID: "b", Body: make([]byte, 8_000_001)}}, layer.TooLarge},
		{[]layer.Edit{{ID: "b", Body: make([]byte, 6_000_000)}, {ID: "c", Body: make([]byte, 6_000_000)}},
			layer.TooLarge},
		{[]layer.Edit{{ID: "b", Attachments: []layer.AttachmentEdit{{Name: "x", Data: make([]byte, 600_000)}}}},
			layer.TooLarge},
	} {
		if _, err := x.Write(t.Context(), c.edits); layer.KindOf(err) != c.want {
			t.Errorf("%s: %v", c.edits[0].ID, err)
		}
		if x.Wrote() {
			t.Fatal("it has edits")
		}
	}
	// A chain whose last edit fails keeps the others.
	if _, err := x.Write(t.Context(), []layer.Edit{{ID: "n", Body: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	_, err = x.Write(t.Context(), []layer.Edit{{ID: "n", Body: []byte("{}")}})
	if layer.KindOf(err) != layer.Conflict {
		t.Error(err)
	}
	if err := x.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if doc, err := d.Get(t.Context(), "n", layer.GetOptions{}); err != nil || doc.Rev.Pos != 1 {
		t.Error(doc, err)
	}
}

// With an engine that fails and does not know whether it has committed, all edits of a transaction are there or none,
// and an acknowledged transaction is.
func TestTransaction_faults(t *testing.T) {
	s, _ := mustFaulty(t, faultkv.Options{Rates: faultkv.Rates{UnknownCommitted: 0.3, UnknownLost: 0.3, Conflict: 0.1}})
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 2})
	committed := 0
	for seed := range 150 {
		x, end := begin(t, s, d)
		ids := []string{fmt.Sprintf("a%d", seed), fmt.Sprintf("b%d", seed)}
		_, err := x.Write(t.Context(), []layer.Edit{{ID: ids[0], Body: []byte("{}")}, {ID: ids[1], Body: []byte("{}")}})
		if err == nil {
			err = x.Commit(t.Context())
		}
		end()
		there := 0
		for _, id := range ids {
			if _, err := d.Get(t.Context(), id, layer.GetOptions{}); err == nil {
				there++
			}
		}
		switch {
		case err == nil && there == 2:
			committed++
		case err != nil && there == 0 && !kv.MaybeCommitted(err):
		case kv.MaybeCommitted(err) && there != 1:
		default:
			t.Errorf("seed %d: %d documents, %v", seed, there, err)
		}
	}
	if committed == 0 || committed == 150 {
		t.Errorf("%d of 150 were committed", committed)
	}
}

// A transaction of a node that has not noticed yet what another node did to the database before it began is committed.
// What is done after it began is a conflict.
func TestTransaction_otherNode(t *testing.T) {
	calm(t)
	e := mustEngine(t)
	here := openViewStore(t, e)
	there, err := layer.Open(t.Context(), e, layer.Options{}) // the other one's checks are for both
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := there.Close(); err != nil {
			t.Error(err)
		}
	}()
	replace := func(t *testing.T) {
		t.Helper()
		if err := there.Delete(t.Context(), "db"); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, there, "db", layer.CreateOptions{Shards: 2})
	}
	secure := func(t *testing.T) {
		t.Helper()
		d, err := there.Database(t.Context(), "db")
		if err == nil {
			err = d.SetSecurity(t.Context(), []byte(`{"members":{"names":["ann"]}}`))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mustCreate(t, there, "db", layer.CreateOptions{Shards: 2})
	handle := func(t *testing.T) *layer.Database {
		t.Helper()
		d, err := here.Database(t.Context(), "db")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	nothing := func(*testing.T) {}
	for i, c := range []struct {
		name          string
		before, after func(t *testing.T)
		want          error
	}{
		{"security before", secure, nothing, nil},
		{"replaced before", replace, nothing, nil},
		{"replaced and security before", func(t *testing.T) { replace(t); secure(t) }, nothing, nil},
		{"security after", nothing, secure, layer.ErrMoved},
		{"security before and after", secure, secure, layer.ErrMoved},
	} {
		t.Run(c.name, func(t *testing.T) {
			save(t, handle(t), fmt.Sprintf(`{"_id":"known%d"}`, i))
			c.before(t)
			d := handle(t)
			x, end := begin(t, here, d)
			defer end()
			id := fmt.Sprintf("new%d", i)
			if _, err := x.Write(t.Context(), []layer.Edit{{ID: id, Body: []byte("{}")}}); err != nil {
				t.Fatal(err)
			}
			c.after(t)
			if err := x.Commit(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if _, err := handle(t).Get(t.Context(), id, layer.GetOptions{}); (err == nil) != (c.want == nil) {
				t.Errorf("afterwards %v", err)
			}
		})
	}
}

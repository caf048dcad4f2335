package layer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// everything renders what a reader sees of some documents: all leaves with histories and bodies, the winners, and the
// counts.
func everything(t *rapid.T, d *layer.Database, ids []string) string {
	ctx := context.Background()
	out := ""
	for _, id := range ids {
		leaves, err := d.OpenRevs(ctx, id, nil, layer.GetOptions{Revs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves {
			out += fmt.Sprintf("%v %s %d\n", l.Doc.Revs, l.Doc.AppendJSON(nil), len(l.Doc.Attachments))
			for _, r := range l.Doc.Revs { // bodies in the history
				old, err := d.OpenRevs(ctx, id, []layer.Rev{r}, layer.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if old[0].Doc != nil {
					out += fmt.Sprintf("  %s\n", old[0].Doc.AppendJSON(nil))
				}
			}
		}
	}
	pass, err := d.Changes(ctx, layer.ChangesOptions{Limit: -1, AllLeaves: true})
	if err != nil {
		t.Fatal(err)
	}
	var feed []string
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		feed = append(feed, fmt.Sprintln(c.ID, c.Deleted, c.Leaves))
	}
	slices.Sort(feed)
	info, err := d.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return out + fmt.Sprint(feed, info.DocCount, info.DocDelCount)
}

// difference returns the first line that differs.
func difference(together, alone string) string {
	a, b := strings.Split(together, "\n"), strings.Split(alone, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("together\n%s\nalone\n%s", a[i], b[i])
		}
	}
	return "one has more lines"
}

// familyWorld is what edits are drawn from: the documents and the branches that they have had.
type familyWorld struct {
	ids   []string
	edits int
	paths map[string][][]layer.Rev // by document
}

// remember adds the branches of d.
func (w *familyWorld) remember(t *rapid.T, d *layer.Database) {
	for _, id := range w.ids {
		leaves, err := d.OpenRevs(context.Background(), id, nil, layer.GetOptions{Revs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves {
			w.paths[id] = append(w.paths[id], l.Doc.Revs)
		}
	}
}

// draw draws edits, most of them of one document. They refer to leaves of d, to revisions from a small set, to those of
// earlier edits, or to forgotten ones.
func (w *familyWorld) draw(t *rapid.T, d *layer.Database, isReplicated bool) []layer.Edit {
	ids := w.ids
	hashes := []string{"x", "y", "z", "00000000000000000000000000000000"}
	edits := make([]layer.Edit, rapid.IntRange(1, 12).Draw(t, "edits"))
	for i := range edits {
		w.edits++
		e := &edits[i]
		e.ID = ids[max(0, rapid.IntRange(-4, len(ids)-1).Draw(t, "id"))]
		e.Deleted = rapid.IntRange(0, 2).Draw(t, "deleted") == 0
		e.Body = fmt.Appendf(nil, `{"n":%d}`, w.edits)
		if rapid.IntRange(0, 2).Draw(t, "same") == 0 {
			e.Body = []byte(`{}`) // makes a revision again if its parent returns
		}
		if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
			e.Body = []byte(`{"n":"refused"}`)
		}
		switch rapid.IntRange(0, 7).Draw(t, "attachments") {
		case 0:
			e.Attachments = []layer.AttachmentEdit{{Name: "a", Data: []byte("data")}}
		case 1:
			e.Attachments = []layer.AttachmentEdit{{Name: "a", Stub: true}}
		case 2:
			e.KeepAttachments = true
		}
		if isReplicated {
			if had := w.paths[e.ID]; len(had) > 0 && rapid.IntRange(0, 2).Draw(t, "again") == 0 {
				path := rapid.SampledFrom(had).Draw(t, "path")
				path = path[rapid.IntRange(0, len(path)-1).Draw(t, "of path"):]
				e.Rev, e.Ancestors = path[0], path[1:1+rapid.IntRange(0, len(path)-1).Draw(t, "known")]
				continue
			}
			pos := rapid.Int64Range(1, 5).Draw(t, "pos")
			e.Rev = layer.Rev{Pos: pos, ID: rapid.SampledFrom(hashes).Draw(t, "hash")}
			for p := pos - 1; p > 0 && rapid.IntRange(0, 9).Draw(t, "cut") > 0; p-- {
				e.Ancestors = append(e.Ancestors,
					layer.Rev{Pos: p, ID: rapid.SampledFrom(hashes[:2]).Draw(t, "ancestor")})
			}
			continue
		}
		leaves, err := d.OpenRevs(context.Background(), e.ID, nil, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(leaves) > 0 && rapid.IntRange(0, 9).Draw(t, "new") > 0 {
			e.Rev = leaves[rapid.IntRange(0, len(leaves)-1).Draw(t, "leaf")].Rev
		}
	}
	return edits
}

var revsLimits = []int{1000, 3, 2, 1}

// betweenBatches changes what later edits find: a new limit of revisions, a purge, a compaction.
func betweenBatches(t *rapid.T, ds []*layer.Database, ids []string) {
	ctx := context.Background()
	each := func(do func(d *layer.Database) error) {
		for _, d := range ds {
			if err := do(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "new limit") == 0 {
		limit := rapid.SampledFrom(revsLimits).Draw(t, "limit now")
		each(func(d *layer.Database) error { return d.SetRevsLimit(ctx, limit) })
	}
	if rapid.IntRange(0, 3).Draw(t, "purge") == 0 {
		id := rapid.SampledFrom(ids).Draw(t, "purged")
		leaves, err := ds[0].OpenRevs(ctx, id, nil, layer.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var revs []layer.Rev
		for _, l := range leaves {
			if len(revs) == 0 || rapid.Bool().Draw(t, "purge it too") {
				revs = append(revs, l.Rev)
			}
		}
		each(func(d *layer.Database) error {
			_, err := d.Purge(ctx, id, revs)
			return err
		})
	}
	if rapid.IntRange(0, 4).Draw(t, "compaction") == 0 {
		each(func(d *layer.Database) error { return d.Compact(ctx) })
	}
}

// TestFamily_model checks that a Bulk, which writes edits of one document together, has the same results as the same
// edits one by one: the same answers, leaves, histories, bodies, winners, counts and superseded bodies. It does so with
// and without cached trees, and with partial trees that hold only what the edits need.
func TestFamily_model(t *testing.T) {
	oneGoroutine(t)
	for _, c := range []struct {
		name        string
		kept, bytes int
	}{{"trees kept", 1, 1 << 20}, {"no trees kept", 1000, 1 << 20}, {"related branches", 1000, 0}} {
		t.Run(c.name, func(t *testing.T) {
			defer layer.CacheTreesFrom(c.kept)()
			defer layer.TreesOf(c.bytes)()
			engine := mustEngine(t)
			s := mustStore(t, engine, layer.Options{Validator: &wordValidator{}})
			var databases atomic.Int64
			rapid.Check(t, func(t *rapid.T) {
				ctx := context.Background()
				ids := []string{"p:a", "p:b", "q:c"}
				limit := rapid.SampledFrom(revsLimits).Draw(t, "limit")
				validated := rapid.Bool().Draw(t, "validated")
				create := layer.CreateOptions{Partitioned: rapid.Bool().Draw(t, "partitioned")}
				var ds [2]*layer.Database
				for i := range ds {
					d, err := s.Create(ctx, fmt.Sprintf("db%d", databases.Add(1)), create)
					if err == nil {
						err = d.SetRevsLimit(ctx, limit)
					}
					if err == nil && validated {
						_, err = d.Put(ctx, layer.Edit{ID: "_design/v", Body: []byte(`{"refuse":"refused"}`)},
							layer.WriteOptions{})
					}
					if err != nil {
						t.Fatal(err)
					}
					ds[i] = d
				}
				w := familyWorld{ids: ids, paths: map[string][][]layer.Rev{}}
				for range rapid.IntRange(1, 5).Draw(t, "batches") {
					o := layer.WriteOptions{Replicated: rapid.IntRange(0, 2).Draw(t, "replicated") > 0,
						User: &layer.UserCtx{Name: "u"}}
					edits := w.draw(t, ds[0], o.Replicated)
					together, err := ds[0].Bulk(ctx, slices.Clone(edits), o)
					if err != nil {
						t.Fatal(err)
					}
					for i, e := range edits {
						rev, err := ds[1].Put(ctx, e, o)
						if got := together[i]; fmt.Sprint(got.Err) != fmt.Sprint(err) || err == nil && got.Rev != rev {
							t.Fatalf("edit %d, %+v: %v, %v together, %v, %v alone", i, e, got.Rev, got.Err, rev, err)
						}
					}
					if got, want := everything(t, ds[0], ids), everything(t, ds[1], ids); got != want {
						t.Fatalf("%s, edits %+v", difference(got, want), edits)
					}
					for _, d := range ds {
						checkDatabase(t, engine, d)
					}
					w.remember(t, ds[0])
					betweenBatches(t, ds[:], ids)
				}
				for _, d := range ds {
					if err := d.Compact(ctx); err != nil {
						t.Fatal(err)
					}
					checkCompacted(t, engine, d)
				}
				if got, want := everything(t, ds[0], ids), everything(t, ds[1], ids); got != want {
					t.Fatalf("compacted: %s", difference(got, want))
				}
			})
		})
	}
}

// An attachment that no leaf had is no longer old if edits that are written together refer to it, one that stays a leaf
// and one that does not.
func TestFamily_oldAttachment(t *testing.T) {
	engine := mustEngine(t)
	db := mustCreate(t, mustStore(t, engine, layer.Options{}), "db", layer.CreateOptions{})
	revs := func(ids string) (path []layer.Rev) {
		for i, id := range ids {
			path = append(path, layer.Rev{Pos: int64(len(ids) - i), ID: string(id)})
		}
		return path
	}
	write := func(edits ...layer.Edit) {
		t.Helper()
		for _, r := range mustBulk(t, db, edits, layer.WriteOptions{Replicated: true}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		checkDatabase(t, engine, db)
	}
	edit := func(path string, attachments ...layer.AttachmentEdit) layer.Edit {
		all := revs(path)
		return layer.Edit{ID: "d", Rev: all[0], Ancestors: all[1:], Body: []byte(`{}`), Attachments: attachments}
	}
	data, stub := layer.AttachmentEdit{Name: "a", Data: []byte("data")}, layer.AttachmentEdit{Name: "a", Stub: true}
	write(edit("x", data))
	write(edit("zx")) // now the attachment is old
	write(edit("yyx", stub), edit("cyyx"), edit("xxx", stub))
}

// TestFamily_cost checks that a batch of edits of one document reads its branches once, or not at all if its tree is
// cached, however many edits there are; and that an answer for many revisions reads them once too.
func TestFamily_cost(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	const leaves, batch = 2000, 100
	e := &costEngine{Engine: mustEngine(t)}
	s := mustStore(t, e, layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	n := 0
	conflicts := func(k int) (edits []layer.Edit) {
		for range k {
			n++
			edits = append(edits, layer.Edit{ID: "x", Rev: layer.Rev{Pos: 2, ID: fmt.Sprintf("%032x", n)},
				Ancestors: []layer.Rev{{Pos: 1, ID: "r"}}})
		}
		return edits
	}
	cost := func(what string, rows, transactions int64, f func() error) {
		t.Helper()
		e.forget()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		if got := e.rows.Load(); got > rows {
			t.Errorf("%s reads %d rows, more than %d", what, got, rows)
		}
		if got := e.transactions.Load(); got > transactions {
			t.Errorf("%s makes %d transactions, more than %d", what, got, transactions)
		}
	}
	write := func(edits []layer.Edit, o layer.WriteOptions) func() error {
		return func() error {
			results, err := d.Bulk(t.Context(), edits, o)
			for _, r := range results {
				if err == nil {
					err = r.Err
				}
			}
			return err
		}
	}
	o := layer.WriteOptions{Replicated: true}
	if err := write(conflicts(leaves), o)(); err != nil {
		t.Fatal(err)
	}
	cost("a batch after another", 10, 3, write(conflicts(batch), o))
	last := conflicts(batch)
	cost("one more", 10, 3, write(last, o))
	cost("a batch that is known", 10, 3, write(last, o))
	cost("one edit", 10, 3, func() error {
		_, err := d.Put(t.Context(), conflicts(1)[0], o)
		return err
	})
	put(t, d, `{"_id":"y"}`)
	mixed := append(conflicts(2), edit(t, `{"_id":"z"}`))
	mixed[2].Rev = layer.Rev{Pos: 1, ID: "a"}
	cost("edits among those of others", 20, 6, write([]layer.Edit{mixed[0], mixed[2], mixed[1]}, o))

	// Another writer has moved the document, so the cached tree is out of date.
	leaf := func(i int) layer.Rev { return layer.Rev{Pos: 2, ID: fmt.Sprintf("%032x", i)} }
	if _, err := d.Put(t.Context(), layer.Edit{ID: "x", Rev: leaf(1), Deleted: true},
		layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	cost("a batch after somebody else's", leaves+500, 3, write(conflicts(batch), o))
	var losers []layer.Edit
	for i := range batch {
		losers = append(losers, layer.Edit{ID: "x", Rev: leaf(i + 2), Deleted: true})
	}
	cost("deletion of losers", 2*batch, 3, write(losers, layer.WriteOptions{}))

	var asked []layer.Rev
	var refs []layer.DocRef
	for i := range 300 {
		asked = append(asked, leaf(i+500), layer.Rev{Pos: 2, ID: fmt.Sprint("no", i)})
		refs = append(refs, layer.DocRef{ID: "x", Rev: leaf(i + 500)})
	}
	cost("revs_diff", leaves+1000, 3, func() error {
		missing, _, err := d.RevsDiff(t.Context(), "x", asked)
		if len(missing) != 300 {
			t.Errorf("%d are missing", len(missing))
		}
		return err
	})
	cost("bulk_get", leaves+1000, 3, func() error {
		for row, err := range d.BulkGet(t.Context(), refs, layer.GetOptions{}) {
			if err != nil || row.Err != nil || row.Docs[0].Doc == nil {
				return fmt.Errorf("%+v, %w", row, err)
			}
		}
		return nil
	})
	cost("purge", leaves+1000, 3, func() error {
		purged, err := d.Purge(t.Context(), "x", []layer.Rev{leaf(700), leaf(701)})
		if len(purged) != 2 {
			t.Errorf("purged %v", purged)
		}
		return err
	})
	leavesLeft, err := d.OpenRevs(t.Context(), "x", nil, layer.GetOptions{})
	if err != nil || len(leavesLeft) != n-2 {
		t.Errorf("%d leaves, %v; want %d", len(leavesLeft), err, n-2)
	}
}

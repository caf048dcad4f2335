package layer_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
)

// docModel is the expected content of a database: the branches of each document. Package revtree has its own model
// test; this one checks the keys of the layer.
type docModel struct {
	db       *layer.Database
	docs     map[string][]revtree.Branch
	limit    int
	order    []string // documents in the order of the feed
	edits    int
	reshards int
}

func (m *docModel) touched(id string) {
	m.order = append(slices.DeleteFunc(m.order, func(x string) bool { return x == id }), id)
}

var modelIDs = []string{"a", "b", "_design/d"}

// interactive edits a leaf or nothing, sometimes a revision that does not exist.
func (m *docModel) interactive(t *rapid.T, ctx context.Context) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "id")
	branches := m.docs[id]
	m.edits++
	e := layer.Edit{ID: id, Body: fmt.Appendf(nil, `{"n":%d}`, m.edits), Deleted: rapid.Bool().Draw(t, "delete")}
	parent := -1
	if n := len(branches); n > 0 && rapid.IntRange(0, 4).Draw(t, "parent") > 0 {
		parent = rapid.IntRange(0, n-1).Draw(t, "leaf")
		e.Rev = branches[parent].Rev
		if rapid.IntRange(0, 5).Draw(t, "stale") == 0 && len(branches[parent].Ancestors) > 0 {
			e.Rev = branches[parent].Path()[1]
			parent = -1
		}
	}
	rev, err := m.db.Put(ctx, e, layer.WriteOptions{})
	var winner *revtree.Branch
	if n := len(branches); n > 0 {
		winner = &branches[n-1]
	}
	allowed := false
	switch {
	case parent >= 0:
		allowed = !branches[parent].Deleted
	case e.Rev.IsZero():
		allowed = winner == nil || winner.Deleted && !e.Deleted
	}
	if !allowed {
		if layer.KindOf(err) != layer.Conflict {
			t.Fatalf("%+v on %v: %v", e, branches, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%+v on %v: %v", e, branches, err)
	}
	added := revtree.Branch{Rev: rev, Deleted: e.Deleted}
	if parent < 0 && winner != nil {
		parent = len(branches) - 1
	}
	if parent >= 0 {
		added.Ancestors = append([]string{branches[parent].Rev.ID}, branches[parent].Ancestors...)
		if rev.Pos != branches[parent].Rev.Pos+1 {
			t.Fatalf("a child of %v is %v", branches[parent].Rev, rev)
		}
	}
	m.docs[id] = revtree.Merge(branches, added, m.limit).Branches
	m.touched(id)
}

// replicated writes a revision as a replicator might. In databases that are to converge, a revision always has the same
// parent and its whole history, as in replication from the database that made it; otherwise anything is possible.
func (m *docModel) replicated(t *rapid.T, ctx context.Context) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "id")
	pos := rapid.Int64Range(1, 5).Draw(t, "pos")
	e := revtree.Branch{Rev: revtree.Rev{Pos: pos,
		ID: rapid.SampledFrom([]string{"x", "y", "00000000000000000000000000000000"}).Draw(t, "hash")}}
	if m.limit < 1000 {
		e.Deleted = rapid.Bool().Draw(t, "deleted")
		e.Ancestors = rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, int(pos)-1).Draw(t, "ancestors")
	} else {
		e.Deleted = (pos+int64(len(e.Rev.ID)))%3 == 0
		for p := pos - 1; p > 0; p-- {
			e.Ancestors = append(e.Ancestors, []string{"x", "y"}[p%2])
		}
	}
	m.push(t, ctx, id, e)
}

func (m *docModel) push(t *rapid.T, ctx context.Context, id string, e revtree.Branch) {
	m.edits++
	ed := layer.Edit{ID: id, Rev: e.Rev, Deleted: e.Deleted, Ancestors: e.Path()[1:],
		Body: fmt.Appendf(nil, `{"n":%d}`, m.edits)}
	results, err := m.db.Bulk(ctx, []layer.Edit{ed, {ID: "_design/"}}, layer.WriteOptions{Replicated: true})
	if err != nil || results[0].Err != nil || results[0].Rev != e.Rev || layer.KindOf(results[1].Err) != layer.Invalid {
		t.Fatalf("%+v: %v, %v", ed, results, err)
	}
	merged := revtree.Merge(m.docs[id], e, m.limit)
	if merged.Changed() {
		m.docs[id] = merged.Branches
		m.touched(id)
	}
}

func (m *docModel) purge(t *rapid.T, ctx context.Context) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "id")
	branches := m.docs[id]
	if len(branches) == 0 {
		return
	}
	i := rapid.IntRange(0, len(branches)-1).Draw(t, "leaf")
	if purged, err := m.db.Purge(ctx, id, []layer.Rev{branches[i].Rev}); err != nil || len(purged) != 1 {
		t.Fatalf("%v, %v", purged, err)
	}
	if m.docs[id] = slices.Delete(slices.Clone(branches), i, i+1); len(m.docs[id]) > 0 {
		m.touched(id)
	} else {
		delete(m.docs, id)
		m.order = slices.DeleteFunc(m.order, func(x string) bool { return x == id })
	}
}

// housekeeping changes nothing that a reader sees.
func (m *docModel) housekeeping(t *rapid.T, ctx context.Context) {
	var err error
	if rapid.Bool().Draw(t, "compact") || m.reshards > 3 {
		err = m.db.Compact(ctx)
	} else {
		m.reshards++
		_, err = m.db.Reshard(ctx, rapid.IntRange(1, 3).Draw(t, "shards"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *docModel) check(t *rapid.T, ctx context.Context) {
	var live []string
	for _, id := range modelIDs {
		var want, got []string
		for _, b := range slices.Backward(m.docs[id]) {
			want = append(want, fmt.Sprint(b.Path(), b.Deleted))
		}
		answers, err := m.db.OpenRevs(ctx, id, nil, layer.GetOptions{Revs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			if a.Doc == nil {
				t.Fatalf("%s: leaf %v has no body", id, a.Rev)
			}
			got = append(got, fmt.Sprint(a.Doc.Revs, a.Doc.Deleted))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s:\n got %v\nwant %v", id, got, want)
		}
		if b := m.docs[id]; len(b) > 0 && !b[len(b)-1].Deleted {
			live = append(live, id)
		}
	}
	sort.Strings(live)
	res, err := m.db.AllDocs(ctx, layer.AllDocsOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for row, err := range res.Rows {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, row.ID)
		if b := m.docs[row.ID]; row.Rev != b[len(b)-1].Rev {
			t.Fatalf("%s is listed with %v", row.ID, row.Rev)
		}
	}
	if !slices.Equal(listed, live) || res.TotalRows != int64(len(live)) {
		t.Fatalf("listed %v of %d, live are %v", listed, res.TotalRows, live)
	}
	m.checkFeed(t, ctx)
}

func (m *docModel) checkFeed(t *rapid.T, ctx context.Context) {
	pass, err := m.db.Changes(ctx, layer.ChangesOptions{Limit: -1, AllLeaves: true})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, c.ID)
		var leaves []layer.Rev
		for _, b := range slices.Backward(m.docs[c.ID]) {
			leaves = append(leaves, b.Rev)
		}
		if !slices.Equal(c.Leaves, leaves) || c.Deleted != m.docs[c.ID][len(leaves)-1].Deleted {
			t.Fatalf("%+v, want leaves %v", c, leaves)
		}
	}
	if !slices.Equal(order, m.order) {
		t.Fatalf("the feed has %v, want %v", order, m.order)
	}
}

// replicate copies what the other database lacks, as CouchDB's protocol does: changes, revs_diff, bulk_get,
// new_edits=false.
func (m *docModel) replicate(t *rapid.T, ctx context.Context, from *docModel) {
	pass, err := from.db.Changes(ctx, layer.ChangesOptions{Limit: -1, AllLeaves: true})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		missing, _, err := m.db.RevsDiff(ctx, c.ID, c.Leaves)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range missing {
			for row, err := range from.db.BulkGet(ctx, []layer.DocRef{{ID: c.ID, Rev: r}},
				layer.GetOptions{Revs: true}) {
				if err != nil || row.Err != nil || row.Docs[0].Doc == nil {
					t.Fatalf("%+v, %v", row, err)
				}
				doc := row.Docs[0].Doc
				b := revtree.Branch{Rev: r, Deleted: doc.Deleted}
				for _, a := range doc.Revs[1:] {
					b.Ancestors = append(b.Ancestors, a.ID)
				}
				m.push(t, ctx, c.ID, b)
			}
		}
	}
}

func (m *docModel) leaves() string {
	var out []string
	for _, id := range modelIDs {
		for _, b := range m.docs[id] {
			out = append(out, fmt.Sprint(id, b.Rev, b.Deleted))
		}
	}
	return strings.Join(out, "\n")
}

// Two databases with random histories replicate with each other. After every step, reads return what the model says. At
// the end, replicated both ways, they have the same leaves and winners.
func TestDatabase_model(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	var n atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		limit := rapid.SampledFrom([]int{1000, 1000, 3, 1}).Draw(t, "limit")
		var dbs [2]*docModel
		for i := range dbs {
			d, err := s.Create(ctx, fmt.Sprintf("db%d", n.Add(1)), layer.CreateOptions{Shards: i + 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.SetRevsLimit(ctx, limit); err != nil {
				t.Fatal(err)
			}
			dbs[i] = &docModel{db: d, docs: map[string][]revtree.Branch{}, limit: limit}
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			m := dbs[rapid.IntRange(0, 1).Draw(t, "db")]
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			case 0:
				m.purge(t, ctx)
			case 1:
				m.housekeeping(t, ctx)
			case 2, 3, 4, 5:
				m.replicated(t, ctx)
			default:
				m.interactive(t, ctx)
			}
			m.check(t, ctx)
		}
		if limit < 1000 {
			// stemming forgets revisions, so the order of arrival matters: CouchDB's databases do not converge then
			// either
			return
		}
		dbs[0].replicate(t, ctx, dbs[1])
		dbs[1].replicate(t, ctx, dbs[0])
		dbs[0].check(t, ctx)
		dbs[1].check(t, ctx)
		if a, b := dbs[0].leaves(), dbs[1].leaves(); a != b {
			t.Fatalf("not the same leaves:\n%s\n\n%s", a, b)
		}
	})
	if lines := verifyAll(t, s, true); len(lines) > 0 {
		t.Errorf("Verify says:\n%s", strings.Join(lines, "\n"))
	}
}

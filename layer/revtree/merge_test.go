package revtree_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/layer/revtree"
	"pgregory.net/rapid"
)

// wholeTree is a naive model: every known revision with its parent, if known, and whether it was deleted. After each
// edit it is reduced to the paths of the leaves, of at most limit revisions.
type wholeTree struct {
	parent  map[revtree.Rev]revtree.Rev // zero if not known
	deleted map[revtree.Rev]bool        // of leaves
	limit   int
}

func newWholeTree(limit int) *wholeTree {
	return &wholeTree{map[revtree.Rev]revtree.Rev{}, map[revtree.Rev]bool{}, limit}
}

func (w *wholeTree) merge(e revtree.Branch) {
	if _, known := w.parent[e.Rev]; !known {
		w.parent[e.Rev] = revtree.Rev{}
		w.deleted[e.Rev] = e.Deleted
	}
	path := e.Path()
	for i := 1; i < len(path); i++ {
		child, parent := path[i-1], path[i]
		if p := w.parent[child]; p != parent && !p.IsZero() {
			break
		}
		w.parent[child] = parent
		if _, known := w.parent[parent]; !known {
			w.parent[parent] = revtree.Rev{}
		}
	}
	w.stem()
}

func (w *wholeTree) leaves() []revtree.Rev {
	inner := map[revtree.Rev]bool{}
	for _, p := range w.parent {
		inner[p] = true
	}
	var leaves []revtree.Rev
	for r := range w.parent {
		if !inner[r] {
			leaves = append(leaves, r)
		}
	}
	return leaves
}

func (w *wholeTree) path(r revtree.Rev) []revtree.Rev {
	path := []revtree.Rev{r}
	for r = w.parent[r]; !r.IsZero() && len(path) < w.limit; r = w.parent[r] {
		path = append(path, r)
	}
	return path
}

func (w *wholeTree) stem() {
	kept := map[revtree.Rev]revtree.Rev{}
	for _, leaf := range w.leaves() {
		path := w.path(leaf)
		for i, r := range path {
			if i+1 < len(path) {
				kept[r] = path[i+1]
			} else if _, ok := kept[r]; !ok {
				kept[r] = revtree.Rev{}
			}
		}
	}
	w.parent = kept
}

func (w *wholeTree) branches() []revtree.Branch {
	var bs []revtree.Branch
	for _, leaf := range w.leaves() {
		b := revtree.Branch{Rev: leaf, Deleted: w.deleted[leaf]}
		for _, r := range w.path(leaf)[1:] {
			b.Ancestors = append(b.Ancestors, r.ID)
		}
		bs = append(bs, b)
	}
	revtree.Sort(bs)
	return bs
}

// apply merges an edit and checks that the parts of the result are consistent.
func apply(t *rapid.T, bs []revtree.Branch, e revtree.Branch, limit int) []revtree.Branch {
	before := describe(bs)
	m := revtree.Merge(bs, e, limit)
	if describe(bs) != before {
		t.Fatalf("Merge changed its argument from %s to %s", before, describe(bs))
	}
	want := maps.Collect(byRev(bs))
	for _, r := range m.Replaced {
		if _, ok := want[r.Rev]; !ok {
			t.Fatalf("replaced %v, which was not a leaf", r.Rev)
		}
		delete(want, r.Rev)
	}
	for _, d := range m.Deepened {
		want[d.Rev] = d
	}
	got := maps.Collect(byRev(m.Branches))
	if m.Outcome == revtree.NewLeaf {
		if _, ok := got[e.Rev]; !ok {
			t.Fatalf("%v is reported as a new leaf, but not in%s", e.Rev, describe(m.Branches))
		}
		want[e.Rev] = got[e.Rev]
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("merging %v into %s: branches %s, but the reported changes add up to %v", e, before,
			describe(m.Branches), want)
	}
	return m.Branches
}

func byRev(bs []revtree.Branch) func(func(revtree.Rev, revtree.Branch) bool) {
	return func(yield func(revtree.Rev, revtree.Branch) bool) {
		for _, b := range bs {
			if len(b.Ancestors) == 0 {
				b.Ancestors = nil
			}
			b.Ancestors = slices.Clone(b.Ancestors)
			if !yield(b.Rev, b) {
				return
			}
		}
	}
}

func describe(bs []revtree.Branch) string {
	s := ""
	for _, b := range bs {
		s += fmt.Sprintf(" %v(deleted=%t)%v", b.Rev, b.Deleted, b.Ancestors)
	}
	return s
}

var ids = []string{"a", "b", "00000000000000000000000000000001", "00000000000000000000000000000002"}

// history draws a tree of edits as databases make them: every revision has one parent. Paths are cut at random, as by
// stemming and gaps.
func history(t *rapid.T) []revtree.Branch {
	nodes := []revtree.Branch{}
	n := rapid.IntRange(1, 14).Draw(t, "revisions")
	taken := map[revtree.Rev]bool{}
	for range n {
		b := revtree.Branch{Rev: revtree.Rev{Pos: 1}, Deleted: rapid.Bool().Draw(t, "deleted")}
		if len(nodes) > 0 && rapid.IntRange(0, 5).Draw(t, "root") > 0 {
			parent := nodes[rapid.IntRange(max(0, len(nodes)-4), len(nodes)-1).Draw(t, "parent")]
			b.Rev.Pos = parent.Rev.Pos + 1
			b.Ancestors = append([]string{parent.Rev.ID}, parent.Ancestors...)
		}
		b.Rev.ID = rapid.SampledFrom(ids).Draw(t, "id")
		if taken[b.Rev] {
			continue
		}
		taken[b.Rev] = true
		nodes = append(nodes, b)
	}
	for i := range nodes {
		if rapid.IntRange(0, 2).Draw(t, "cut") == 0 {
			nodes[i].Ancestors = nodes[i].Ancestors[:rapid.IntRange(0, len(nodes[i].Ancestors)).Draw(t, "keep")]
		}
	}
	return nodes
}

// hostile draws edits that contradict each other, with any parent for any revision.
func hostile(t *rapid.T) []revtree.Branch {
	edits := make([]revtree.Branch, rapid.IntRange(1, 10).Draw(t, "edits"))
	for i := range edits {
		pos := rapid.Int64Range(1, 5).Draw(t, "pos")
		edits[i] = revtree.Branch{
			Rev:       revtree.Rev{Pos: pos, ID: rapid.SampledFrom(ids[:3]).Draw(t, "id")},
			Deleted:   rapid.Bool().Draw(t, "deleted"),
			Ancestors: rapid.SliceOfN(rapid.SampledFrom(ids[:3]), 0, int(pos)-1).Draw(t, "ancestors"),
		}
	}
	return edits
}

func TestMerge_model(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) []revtree.Branch{"histories": history, "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				edits := rapid.Permutation(draw(t)).Draw(t, "order")
				limit := rapid.IntRange(1, 8).Draw(t, "limit")
				model := newWholeTree(limit)
				var bs []revtree.Branch
				for _, e := range edits {
					bs = apply(t, bs, e, limit)
					model.merge(e)
					if got, want := describe(bs), describe(model.branches()); got != want {
						t.Fatalf("after %v, limit %d:\n got %s\nwant %s", e, limit, got, want)
					}
				}
			})
		})
	}
}

// TestMerge_converges checks that two databases that see the same edits in any order, some of them twice, agree on
// leaves, winner and histories.
func TestMerge_converges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edits := history(t)
		var ends []string
		for range 2 {
			var bs []revtree.Branch
			for _, e := range rapid.Permutation(edits).Draw(t, "order") {
				bs = apply(t, bs, e, 1000)
			}
			again := rapid.SampledFrom(edits).Draw(t, "again")
			if m := revtree.Merge(bs, again, 1000); m.Changed() {
				t.Fatalf("merging %v again changes %s to %s", again, describe(bs), describe(m.Branches))
			}
			ends = append(ends, describe(bs))
		}
		if ends[0] != ends[1] {
			t.Fatalf("\n%s\n%s", ends[0], ends[1])
		}
	})
}

// TestMerge_replicated checks that a database that replicates leaves with stemmed histories from another one ends with
// the same leaves and winner.
func TestMerge_replicated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		var source []revtree.Branch
		for _, e := range history(t) {
			source = apply(t, source, e, limit)
		}
		var target []revtree.Branch
		for _, e := range rapid.Permutation(source).Draw(t, "order") {
			target = apply(t, target, e, limit)
		}
		if got, want := describe(target), describe(source); got != want {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
	})
}

func TestMerge_tombstoneOnWinner(t *testing.T) {
	live := revtree.Branch{Rev: revtree.Rev{Pos: 2, ID: "a"}, Ancestors: []string{"r"}}
	winner := revtree.Branch{Rev: revtree.Rev{Pos: 2, ID: "b"}, Ancestors: []string{"r"}}
	m := revtree.Merge([]revtree.Branch{live, winner},
		revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: "x"}, Deleted: true, Ancestors: []string{"b", "r"}}, 1000)
	if m.Winner().Rev != live.Rev || len(m.Branches) != 2 || len(m.Replaced) != 1 {
		t.Fatalf("winner %v of %s", m.Winner(), describe(m.Branches))
	}
}

// manyBranches returns conflicts of one revision. If stemmed, they do not know the first revision.
func manyBranches(n int, stemmed bool) (bs []revtree.Branch) {
	for i := range n {
		b := revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: fmt.Sprintf("%032x", i)}, Ancestors: []string{"b", "a"}}
		if stemmed {
			b.Ancestors = b.Ancestors[:1]
		}
		bs = append(bs, b)
	}
	return bs
}

// TestMerge_linear checks that the cost of a merge is linear in the number of branches: 32 times as many branches must
// not take a thousand times as long. It takes the fastest of some runs, and leaves room for a busy machine.
func TestMerge_linear(t *testing.T) {
	edit := revtree.Branch{Rev: revtree.Rev{Pos: 4, ID: "new"}, Ancestors: []string{fmt.Sprintf("%032x", 7), "b", "a"}}
	for _, stemmed := range []bool{false, true} {
		fastest := func(n int) time.Duration {
			bs, best := manyBranches(n, stemmed), time.Hour
			for range 7 {
				began := time.Now()
				m := revtree.Merge(bs, edit, 1000)
				best = min(best, time.Since(began))
				if len(m.Branches) != n || len(m.Replaced) != 1 {
					t.Fatalf("%d branches, %d replaced", len(m.Branches), len(m.Replaced))
				}
			}
			return best
		}
		few, many := fastest(500), fastest(16_000)
		t.Logf("stemmed %t: 500 branches in %v, 16,000 in %v: %.1f times", stemmed, few, many,
			float64(many)/float64(few))
		if many > 250*few {
			t.Errorf("stemmed %t: 32 times as many branches take %.0f times as long", stemmed,
				float64(many)/float64(few))
		}
	}
}

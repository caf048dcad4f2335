package revtree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/revtree"
	"pgregory.net/rapid"
)

func treeOf(bs []revtree.Branch, limit int) *revtree.Tree {
	tree := revtree.NewTree(limit, nil)
	for _, b := range bs {
		tree.Add(b)
	}
	return tree
}

func branchesOf(tree *revtree.Tree) []revtree.Branch {
	var bs []revtree.Branch
	for b := range tree.All() {
		bs = append(bs, tree.Branch(b.Rev))
	}
	revtree.Sort(bs)
	return bs
}

func revsOf(bs []revtree.Branch) string {
	var revs []string
	for _, b := range bs {
		revs = append(revs, b.Rev.String())
	}
	slices.Sort(revs)
	return strings.Join(revs, " ")
}

// TestTree_model checks that a Tree does the same as Merge for each edit, also if it is made again from the stored
// branches, possibly with another limit, or trimmed in between.
func TestTree_model(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) []revtree.Branch{"histories": history, "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.IntRange(1, 8).Draw(t, "limit")
				var bs []revtree.Branch
				tree := treeOf(bs, limit)
				for _, e := range rapid.Permutation(draw(t)).Draw(t, "order") {
					if rapid.IntRange(0, 3).Draw(t, "reopen") == 0 {
						limit = max(limit, rapid.IntRange(1, 8).Draw(t, "another limit"))
						tree = treeOf(bs, limit)
					}
					if rapid.Bool().Draw(t, "trim") {
						tree = tree.Trimmed(rapid.IntRange(0, 100).Draw(t, "most"))
					}
					before := describe(bs)
					partial := slices.ContainsFunc(bs, func(b revtree.Branch) bool {
						return int64(len(b.Ancestors)) < b.Rev.Pos-1
					})
					if tree.Partial() != partial || tree.Outcome(e.Rev) != revtree.Merge(bs, e, limit).Outcome {
						t.Fatalf("%s: partial %t, outcome of %v is %v", before, tree.Partial(), e.Rev,
							tree.Outcome(e.Rev))
					}
					for _, r := range e.Path() {
						if tree.Known(r) != (revtree.Find(bs, r) >= 0) {
							t.Fatalf("Known(%v) = %t in %s", r, tree.Known(r), before)
						}
					}
					want, got := revtree.Merge(bs, e, limit), tree.Merge(e)
					bs = want.Branches
					if a, b := describe(branchesOf(tree)), describe(bs); a != b {
						t.Fatalf("merging %v, limit %d, into %s\n got %s\nwant %s", e, limit, before, a, b)
					}
					deepened := make([]revtree.Branch, 0, len(got.Deepened))
					for _, r := range got.Deepened {
						deepened = append(deepened, revtree.Branch{Rev: r})
					}
					if got.Outcome != want.Outcome || revsOf(got.Replaced) != revsOf(want.Replaced) ||
						revsOf(deepened) != revsOf(want.Deepened) {
						t.Fatalf("merging %v into %s: %+v, want %+v", e, before, got, want)
					}
					if tree.Len() != len(bs) {
						t.Fatalf("%d leaves, want those of %s", tree.Len(), describe(bs))
					}
				}
			})
		})
	}
}

// TestTree_fit checks that a branch has no more ancestors than fit permits, and that no more than Deepen ancestors are
// learned at once.
func TestTree_fit(t *testing.T) {
	tree := revtree.NewTree(1000, func(ids []string) int { return min(len(ids), 2) })
	tree.Merge(revtree.Branch{Rev: revtree.Rev{Pos: 5, ID: "x"}, Ancestors: []string{"d", "c", "b", "a"}})
	if b := tree.Branch(revtree.Rev{Pos: 5, ID: "x"}); len(b.Ancestors) != 2 || !tree.Partial() ||
		tree.Known(revtree.Rev{Pos: 2, ID: "b"}) {
		t.Errorf("%+v", b)
	}
	tree = revtree.NewTree(1000, nil)
	for i := range 10 {
		tree.Add(revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: fmt.Sprint(i)}, Ancestors: []string{"b"}})
	}
	tree.Deepen = 4
	if m := tree.Merge(revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: "x"},
		Ancestors: []string{"b", "a"}}); len(m.Deepened) != 4 || m.Deepened[0].ID != "9" {
		t.Errorf("%+v", m)
	}
}

func TestFindAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bs []revtree.Branch
		edits := history(t)
		for _, e := range edits[:rapid.IntRange(0, len(edits)).Draw(t, "merged")] {
			bs = revtree.Merge(bs, e, 1000).Branches
		}
		var revs []revtree.Rev
		for _, e := range edits {
			revs = append(revs, e.Path()...)
		}
		found, containing := revtree.FindAll(bs, revs), revtree.Containing(bs, revs)
		for _, r := range revs {
			i, ok := found[r]
			if want := revtree.Find(bs, r); want < 0 && ok || want >= 0 && i != want {
				t.Fatalf("%v of %s: %d, want %d", r, describe(bs), i, want)
			}
			var want []int
			for j, b := range bs {
				if b.Contains(r) {
					want = append(want, j)
				}
			}
			if !slices.Equal(containing[r], want) {
				t.Fatalf("%v of %s: %v, want %v", r, describe(bs), containing[r], want)
			}
		}
	})
}

// BenchmarkTree_Merge merges one new leaf into a document with many.
func BenchmarkTree_Merge(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tree := revtree.NewTree(1000, nil)
			for i := range n {
				tree.Add(revtree.Branch{Rev: revtree.Rev{Pos: 2, ID: fmt.Sprintf("%032x", i)},
					Ancestors: []string{"r"}})
			}
			i := n
			for b.Loop() {
				i++
				tree.Merge(revtree.Branch{Rev: revtree.Rev{Pos: 2, ID: fmt.Sprintf("%032x", i)},
					Ancestors: []string{"r"}})
			}
			b.ReportMetric(float64(i-n)/b.Elapsed().Seconds(), "leaves/s")
		})
	}
}

// TestTree_contradiction checks that of stored branches that contradict each other, the first one takes precedence.
func TestTree_contradiction(t *testing.T) {
	tree := revtree.NewTree(1000, nil)
	tree.Add(revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: "x"}, Ancestors: []string{"b", "a"}})
	tree.Add(revtree.Branch{Rev: revtree.Rev{Pos: 3, ID: "y"}, Ancestors: []string{"b", "other"}})
	for id, want := range map[string][]string{"x": {"b", "a"}, "y": {"b"}} {
		if b := tree.Branch(revtree.Rev{Pos: 3, ID: id}); !slices.Equal(b.Ancestors, want) {
			t.Errorf("ancestors of %s are %q, want %q", id, b.Ancestors, want)
		}
	}
	if tree.Known(revtree.Rev{Pos: 1, ID: "other"}) {
		t.Error("the tree has the ancestor that contradicts the first branch")
	}
}

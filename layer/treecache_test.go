package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
)

// However many trees are kept, their revisions are bounded: the oldest trees go.
func TestTreeCache_bounded(t *testing.T) {
	defer layer.CacheTreesFrom(1)()
	const each = layer.CachedRevisions / 4
	tree := func(size int) *revtree.Tree {
		b := revtree.Branch{Rev: revtree.Rev{Pos: int64(size), ID: "leaf"}}
		for i := range size - 1 {
			b.Ancestors = append(b.Ancestors, fmt.Sprint(i))
		}
		tree := revtree.NewTree(size, nil)
		tree.Add(b)
		return tree
	}
	var c layer.TreeCache
	large := tree(each)
	for i := range 6 {
		c.Put(fmt.Sprint(i), large)
		if n := c.Size(); n > layer.CachedRevisions {
			t.Fatalf("%d revisions are kept after %d trees", n, i+1)
		}
	}
	for i := range 6 {
		if kept := c.Has(fmt.Sprint(i)); kept != (i >= 2) {
			t.Errorf("tree %d is kept: %t", i, kept)
		}
	}
	c.Put("5", tree(10)) // in the place of the one before
	if n := c.Size(); n != 3*each+10 {
		t.Errorf("%d revisions are kept, want %d", n, 3*each+10)
	}
}

package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/revtree"
)

// However many trees are cached, their total number of revisions is limited: the oldest trees are dropped.
func TestTreeCache_bounded(t *testing.T) {
	defer layer.CacheTreesFrom(1)()
	const each = layer.CachedRevisions / 4
	branch := func(size int) revtree.Branch {
		b := revtree.Branch{Rev: revtree.Rev{Pos: int64(size), ID: "leaf"}}
		for i := range size - 1 {
			b.Ancestors = append(b.Ancestors, fmt.Sprint(i))
		}
		return b
	}
	tree := func(size int) *revtree.Tree {
		tree := revtree.NewTree(size, nil)
		tree.Add(branch(size))
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
	c.Put("5", tree(10)) // replaces the one before
	if n := c.Size(); n != 3*each+10 {
		t.Errorf("%d revisions are kept, want %d", n, 3*each+10)
	}
	// Revisions that only edits have named, and no branch keeps, do not count.
	few := revtree.NewTree(5, nil)
	few.Merge(branch(layer.CachedRevisions + 1))
	c.Put("few", few)
	if n := c.Size(); !c.Has("few") || n != 3*each+15 {
		t.Errorf("a tree that keeps 5 revisions is kept: %t, %d in all", c.Has("few"), n)
	}
}

// The branches of a document with long histories are read once, even if they are few.
func TestBulk_longHistories(t *testing.T) {
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("what is done again after a fault is read again")
	}
	const branches = 30
	e := &costEngine{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	if err := d.SetRevsLimit(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	branch := func(n int) layer.Edit {
		const length = 2000
		e := layer.Edit{ID: "x", Rev: layer.Rev{Pos: length, ID: fmt.Sprint(n)}, Body: []byte(`{}`)}
		for pos := int64(length - 1); pos > 0; pos-- {
			e.Ancestors = append(e.Ancestors, layer.Rev{Pos: pos, ID: fmt.Sprint(n, "-", pos)})
		}
		return e
	}
	push := func(from, n int) {
		t.Helper()
		var edits []layer.Edit
		for i := range n {
			edits = append(edits, branch(from+i))
		}
		for _, r := range mustBulk(t, d, edits, layer.WriteOptions{Replicated: true}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	push(0, branches)
	e.forget()
	push(branches, 5)
	if n := e.rows.Load(); n > 10 {
		t.Errorf("another batch reads %d rows of a document with %d branches", n, branches)
	}
}

package revtree

import (
	"iter"
	"slices"
)

// Tree is the branches of one document, prepared for many merges. The cost of a merge depends on the length of the
// edit's history, but not on the number of branches. The model tests check that the result is that of Merge.
//
// The tree has every known revision once, with a pointer to its parent. A branch is a leaf and the number of ancestors
// that it knows.
type Tree struct {
	limit int
	fit   func(ancestors []string) int
	// Deepen is how many more ancestors the existing branches may learn, in total. A branch that learns any has to be
	// written again, and there may be many branches; the others learn theirs from a later merge.
	Deepen int

	nodes  []node
	index  map[Rev]int32
	leaves map[int32]*branch
	// roots are the branches that could learn older ancestors, by their oldest known revision.
	roots   map[int32]map[int32]struct{}
	partial int  // number of branches that do not know their whole history
	settled bool // no branch can learn from another
	merges  int32
	path    []int32 // of the current edit
}

// node is a revision. The revision is known unless refs is 0, and its parent is known unless edges is 0.
type node struct {
	rev    Rev
	parent int32 // -1 if not set
	refs   int32 // number of branches that know it
	edges  int32 // number of branches that also know its parent
	merge  int32 // number of the merge that brings its parent
}

type branch struct {
	deleted bool
	depth   int32 // number of known ancestors
	root    int32
}

// NewTree returns an empty tree. limit is that of Merge. fit returns how many of a branch's ancestors, newest first,
// can be stored; nil means all.
func NewTree(limit int, fit func(ancestors []string) int) *Tree {
	return &Tree{
		limit: limit, fit: fit, Deepen: int(^uint(0) >> 1),
		index: map[Rev]int32{}, leaves: map[int32]*branch{}, roots: map[int32]map[int32]struct{}{},
	}
}

// Add adds an existing branch of the document.
func (t *Tree) Add(b Branch) {
	leaf := t.intern(b.Rev)
	e := &branch{deleted: b.Deleted}
	t.nodes[leaf].refs++
	i := leaf
	for _, id := range b.Ancestors {
		next := t.nodes[i].parent
		if next < 0 || t.nodes[next].rev.ID != id {
			if next >= 0 && t.nodes[i].edges > 0 {
				break // the branches contradict each other: the first one takes precedence
			}
			next = t.intern(Rev{Pos: t.nodes[i].rev.Pos - 1, ID: id})
			t.nodes[i].parent = next
		}
		t.nodes[i].edges++
		t.nodes[next].refs++
		i = next
		e.depth++
	}
	e.root = i
	t.put(leaf, e)
}

func (t *Tree) intern(r Rev) int32 {
	i, ok := t.index[r]
	if !ok {
		i = int32(len(t.nodes))
		t.nodes = append(t.nodes, node{rev: r, parent: -1})
		t.index[r] = i
	}
	return i
}

// put adds a branch to the tree's lists.
func (t *Tree) put(leaf int32, e *branch) {
	t.leaves[leaf] = e
	if !t.complete(leaf, e) {
		t.partial++
	}
	if int(e.depth) < t.limit-1 && t.nodes[e.root].rev.Pos > 1 {
		if t.roots[e.root] == nil {
			t.roots[e.root] = map[int32]struct{}{}
		}
		t.roots[e.root][leaf] = struct{}{}
	}
}

func (t *Tree) remove(leaf int32, e *branch) {
	delete(t.leaves, leaf)
	if !t.complete(leaf, e) {
		t.partial--
	}
	if waiting := t.roots[e.root]; waiting != nil {
		if delete(waiting, leaf); len(waiting) == 0 {
			delete(t.roots, e.root)
		}
	}
}

func (t *Tree) complete(leaf int32, e *branch) bool { return int64(e.depth) >= t.nodes[leaf].rev.Pos-1 }

// Len returns the number of branches.
func (t *Tree) Len() int { return len(t.leaves) }

// Size returns the number of revisions in the tree.
func (t *Tree) Size() int { return len(t.nodes) }

// Trimmed returns a tree of the same branches without the revisions that no branch keeps, for example because an edit's
// history was longer than the limit. It returns t if more than most revisions would be left or if there is nothing to
// remove.
func (t *Tree) Trimmed(most int) *Tree {
	kept := 0
	for i := range t.nodes {
		if t.nodes[i].refs > 0 {
			kept++
		}
	}
	if kept > most || kept == len(t.nodes) {
		return t
	}
	trimmed := NewTree(t.limit, t.fit)
	trimmed.Deepen = t.Deepen
	for leaf, e := range t.leaves {
		trimmed.Add(Branch{Rev: t.nodes[leaf].rev, Deleted: e.deleted, Ancestors: t.ancestors(leaf, int(e.depth))})
	}
	return trimmed
}

// Partial reports whether a branch does not know its whole history.
func (t *Tree) Partial() bool { return t.partial > 0 }

// Leaf reports whether r is a leaf, and whether it is deleted.
func (t *Tree) Leaf(r Rev) (deleted, ok bool) {
	i, ok := t.index[r]
	if !ok {
		return false, false
	}
	e, ok := t.leaves[i]
	return ok && e.deleted, ok
}

// Known reports whether some branch contains r.
func (t *Tree) Known(r Rev) bool {
	i, ok := t.index[r]
	return ok && t.nodes[i].refs > 0
}

// Outcome returns the outcome that a merge of r would have.
func (t *Tree) Outcome(r Rev) Outcome {
	if _, leaf := t.Leaf(r); leaf {
		return KnownLeaf
	}
	if t.Known(r) {
		return KnownAncestor
	}
	return NewLeaf
}

// Branch returns the branch of a leaf.
func (t *Tree) Branch(r Rev) Branch {
	i := t.index[r]
	e := t.leaves[i]
	return Branch{Rev: r, Deleted: e.deleted, Ancestors: t.ancestors(i, int(e.depth))}
}

func (t *Tree) ancestors(i int32, n int) []string {
	ids := make([]string, n)
	for k := range ids {
		i = t.nodes[i].parent
		ids[k] = t.nodes[i].rev.ID
	}
	return ids
}

// All returns the branches without their ancestors, in no particular order.
func (t *Tree) All() iter.Seq[Branch] {
	return func(yield func(Branch) bool) {
		for i, e := range t.leaves {
			if !yield(Branch{Rev: t.nodes[i].rev, Deleted: e.deleted}) {
				return
			}
		}
	}
}

// TreeChange is what a merge has done to a Tree.
type TreeChange struct {
	Outcome Outcome
	// Replaced are the old leaves that are history now, without their ancestors.
	Replaced []Branch
	// Deepened are the leaves, except a new one, that learned older ancestors.
	Deepened []Rev
}

// Merge merges an edit, like the function Merge.
func (t *Tree) Merge(edit Branch) TreeChange {
	m := TreeChange{Outcome: t.Outcome(edit.Rev)}
	t.merges++
	t.follow(edit)
	for _, i := range t.path[1:] {
		if e, ok := t.leaves[i]; ok {
			m.Replaced = append(m.Replaced, Branch{Rev: t.nodes[i].rev, Deleted: e.deleted})
		}
	}
	leaf := t.path[0]
	var added *branch
	if m.Outcome == NewLeaf {
		added = &branch{deleted: edit.Deleted, root: leaf}
	}
	learners := t.learners(m.Replaced)
	// Compute what all branches will know before removing anything.
	var more []int32
	if added != nil {
		more = t.older(leaf, added)
	}
	deeper := make([][]int32, len(learners))
	for k, l := range learners {
		deeper[k] = t.older(l, t.leaves[l])
	}
	if added != nil {
		t.nodes[leaf].refs++
		t.learn(added, more)
		t.put(leaf, added)
	}
	for k, l := range learners {
		e := t.leaves[l]
		if len(deeper[k]) == 0 || len(deeper[k]) > t.Deepen {
			continue
		}
		t.Deepen -= len(deeper[k])
		t.remove(l, e)
		t.learn(e, deeper[k])
		t.put(l, e)
		m.Deepened = append(m.Deepened, t.nodes[l].rev)
	}
	for _, r := range m.Replaced {
		t.drop(t.index[r.Rev])
	}
	return m
}

// follow sets path to the edit and its ancestors, up to the first one that contradicts the tree.
func (t *Tree) follow(edit Branch) {
	i := t.intern(edit.Rev)
	t.path = append(t.path[:0], i)
	for _, id := range edit.Ancestors {
		n := &t.nodes[i]
		known := n.edges > 0
		if known && t.nodes[n.parent].rev.ID != id {
			return
		}
		if !known {
			next := t.intern(Rev{Pos: n.rev.Pos - 1, ID: id})
			n = &t.nodes[i] // intern may have moved it
			n.parent, n.merge = next, t.merges
		}
		i = t.nodes[i].parent
		t.path = append(t.path, i)
	}
}

// up returns the parent of a revision, if the tree or the current edit knows it, otherwise -1.
func (t *Tree) up(i int32) int32 {
	if n := &t.nodes[i]; n.edges > 0 || n.merge == t.merges {
		return n.parent
	}
	return -1
}

// learners returns the leaves that may learn from the current edit, except those that it replaces.
func (t *Tree) learners(replaced []Branch) []int32 {
	var out []int32
	from := func(root int32) {
		for l := range t.roots[root] {
			if !slices.ContainsFunc(replaced, func(b Branch) bool { return b.Rev == t.nodes[l].rev }) {
				out = append(out, l)
			}
		}
	}
	if !t.settled {
		t.settled = true
		for root := range t.roots {
			if t.up(root) >= 0 {
				from(root)
			}
		}
	} else {
		for _, i := range t.path {
			if t.nodes[i].merge == t.merges && t.nodes[i].edges == 0 {
				from(i)
			}
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return t.nodes[b].rev.Compare(t.nodes[a].rev) })
	return out
}

// older returns the ancestors that a branch does not know yet and can learn.
func (t *Tree) older(leaf int32, e *branch) []int32 {
	var more []int32
	depth := int(e.depth)
	for i := t.up(e.root); i >= 0 && depth < t.limit-1; i = t.up(i) {
		more = append(more, i)
		depth++
	}
	if t.fit == nil || len(more) == 0 {
		return more
	}
	ids := make([]string, 0, depth)
	ids = append(ids, t.ancestors(leaf, int(e.depth))...)
	for _, i := range more {
		ids = append(ids, t.nodes[i].rev.ID)
	}
	return more[:max(0, min(len(more), t.fit(ids)-int(e.depth)))]
}

// learn makes ancestors known to a branch.
func (t *Tree) learn(e *branch, more []int32) {
	for _, i := range more {
		t.nodes[e.root].edges++
		t.nodes[i].refs++
		e.root = i
		e.depth++
	}
}

// drop removes a branch.
func (t *Tree) drop(leaf int32) {
	e := t.leaves[leaf]
	t.remove(leaf, e)
	i := leaf
	for range e.depth {
		t.nodes[i].refs--
		t.nodes[i].edges--
		i = t.nodes[i].parent
	}
	t.nodes[i].refs--
}

// FindAll is Find for many revisions. Unknown ones are not in the result.
func FindAll(branches []Branch, revs []Rev) map[Rev]int {
	found := make(map[Rev]int, len(revs))
	eachContained(branches, revs, func(r Rev, i int) {
		if was, ok := found[r]; !ok || branches[was].Rev != r {
			found[r] = i
		}
	})
	return found
}

// Containing returns, for each of the revisions, the indexes of the branches that contain it, in order.
func Containing(branches []Branch, revs []Rev) map[Rev][]int {
	found := make(map[Rev][]int, len(revs))
	eachContained(branches, revs, func(r Rev, i int) { found[r] = append(found[r], i) })
	return found
}

// eachContained reads the branches once, at the positions of the revisions.
func eachContained(branches []Branch, revs []Rev, found func(r Rev, i int)) {
	at := map[int64]map[string]struct{}{}
	for _, r := range revs {
		if at[r.Pos] == nil {
			at[r.Pos] = map[string]struct{}{}
		}
		at[r.Pos][r.ID] = struct{}{}
	}
	for i := range branches {
		for pos, wanted := range at {
			if id, ok := branches[i].at(pos); ok {
				if _, ok := wanted[id]; ok {
					found(Rev{Pos: pos, ID: id}, i)
				}
			}
		}
	}
}

package revtree

import (
	"iter"
	"slices"
)

// Tree is the branches of one document, prepared for many merges. A merge costs as much as the edit's history is long,
// whatever the number of branches. It does what Merge does, and the model tests hold it to that.
//
// The tree has every revision that some branch knows, once, with a pointer to its parent. A branch is a leaf and how
// many of its ancestors it knows.
type Tree struct {
	limit int
	fit   func(ancestors []string) int
	// Deepen is how many more ancestors the branches that are not new may learn, all together. A branch that learns
	// some has to be written again, and there may be any number of branches; the others learn theirs from a later
	// merge.
	Deepen int

	nodes  []node
	index  map[Rev]int32
	leaves map[int32]*branch
	// roots are the branches that could learn older ancestors, by the oldest one that they know.
	roots   map[int32]map[int32]struct{}
	partial int  // branches that do not know the whole history
	settled bool // no branch can learn from another
	merges  int32
	path    []int32 // of the edit under way
}

// node is a revision. It is known while refs is not 0, and its parent is while edges is not 0.
type node struct {
	rev    Rev
	parent int32 // -1: none yet
	refs   int32 // branches that know it
	edges  int32 // branches that know its parent too
	merge  int32 // the merge that brings its parent
}

type branch struct {
	deleted bool
	depth   int32 // known ancestors
	root    int32
}

// NewTree makes a tree of no branches. limit is that of Merge. fit tells how many of a branch's ancestors, newest
// first, can be stored; nil is all.
func NewTree(limit int, fit func(ancestors []string) int) *Tree {
	return &Tree{
		limit: limit, fit: fit, Deepen: int(^uint(0) >> 1),
		index: map[Rev]int32{}, leaves: map[int32]*branch{}, roots: map[int32]map[int32]struct{}{},
	}
}

// Add adds a branch that the document has.
func (t *Tree) Add(b Branch) {
	leaf := t.intern(b.Rev)
	e := &branch{deleted: b.Deleted}
	t.nodes[leaf].refs++
	i := leaf
	for _, id := range b.Ancestors {
		next := t.nodes[i].parent
		if next < 0 || t.nodes[next].rev.ID != id {
			if next >= 0 && t.nodes[i].edges > 0 {
				break // the branches contradict each other: the first one stands
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

// put enters a branch, remove takes it out.
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

// Len is the number of branches.
func (t *Tree) Len() int { return len(t.leaves) }

// Size is the number of revisions that the tree holds.
func (t *Tree) Size() int { return len(t.nodes) }

// Trimmed is a tree of the same branches without the revisions that edits named and none of the branches keeps, as
// where their histories are longer than the limit. It is t itself where more than so many revisions would be left, or
// none would go.
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

// Leaf reports whether r is a leaf, and whether a deleted one.
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

// Outcome is what a merge of r would find.
func (t *Tree) Outcome(r Rev) Outcome {
	if _, leaf := t.Leaf(r); leaf {
		return KnownLeaf
	}
	if t.Known(r) {
		return KnownAncestor
	}
	return NewLeaf
}

// Branch is the branch of a leaf.
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

// All are the leaves in no order, their ancestors left out.
func (t *Tree) All() iter.Seq[Branch] {
	return func(yield func(Branch) bool) {
		for i, e := range t.leaves {
			if !yield(Branch{Rev: t.nodes[i].rev, Deleted: e.deleted}) {
				return
			}
		}
	}
}

// TreeChange is what a merge did to a Tree.
type TreeChange struct {
	Outcome Outcome
	// Replaced are the former leaves that are history now, their ancestors left out.
	Replaced []Branch
	// Deepened are the leaves, other than a new one, that learned older ancestors.
	Deepened []Rev
}

// Merge merges an edit as the function Merge does.
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
	// What is to be known is settled before anything is forgotten.
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

// follow makes path of the edit and those of its ancestors that the tree does not contradict.
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

// up is the parent of a revision as the tree and the edit under way know it; -1 where they do not.
func (t *Tree) up(i int32) int32 {
	if n := &t.nodes[i]; n.edges > 0 || n.merge == t.merges {
		return n.parent
	}
	return -1
}

// learners are the leaves that may learn from the edit under way; those that it replaces need not.
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

// older are the ancestors that a branch does not know and can.
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

// FindAll is Find for many revisions; those that are not known are left out.
func FindAll(branches []Branch, revs []Rev) map[Rev]int {
	found := make(map[Rev]int, len(revs))
	eachContained(branches, revs, func(r Rev, i int) {
		if was, ok := found[r]; !ok || branches[was].Rev != r {
			found[r] = i
		}
	})
	return found
}

// Containing are, for each of the revisions, the branches that contain it, in order.
func Containing(branches []Branch, revs []Rev) map[Rev][]int {
	found := make(map[Rev][]int, len(revs))
	eachContained(branches, revs, func(r Rev, i int) { found[r] = append(found[r], i) })
	return found
}

// eachContained goes once through the branches, and through the positions that the revisions are at.
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

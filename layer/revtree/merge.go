package revtree

import "slices"

// Outcome is what a merged revision turned out to be.
type Outcome int

const (
	// NewLeaf: the revision was not known. It extends a branch or begins one.
	NewLeaf Outcome = iota
	// KnownLeaf: the revision is already a leaf.
	KnownLeaf
	// KnownAncestor: the revision is in the history of a leaf.
	KnownAncestor
)

// Merged is the result of Merge.
type Merged struct {
	Outcome Outcome
	// Branches are all branches of the document after the merge, in winner order: the last one wins.
	Branches []Branch
	// Replaced are the old leaves that are history now.
	Replaced []Branch
	// Deepened are the branches, except a new leaf's, that learned older ancestors.
	Deepened []Branch
}

// Changed reports whether there is anything to write.
func (m Merged) Changed() bool {
	return m.Outcome == NewLeaf || len(m.Replaced) > 0 || len(m.Deepened) > 0
}

// Winner returns the winning branch.
func (m Merged) Winner() Branch { return m.Branches[len(m.Branches)-1] }

// Merge merges a revision with its history into the branches of a document (new_edits=false). limit is the number of
// revisions, including the leaf, that a branch keeps, newest first (R5).
//
// What is known of a revision's history comes from all branches together: the tree. If an edit contradicts the tree
// (the same revision with another parent, which hashes exclude but clients can send), the tree takes precedence and the
// rest of the edit's history is ignored. Merge does not modify branches; the result shares slices with branches and
// edit.
//
// The cost is proportional to the total length of all branches. Tree does many merges for less.
func Merge(branches []Branch, edit Branch, limit int) Merged {
	edit.Ancestors = edit.Ancestors[:agreeing(branches, edit)]
	known := merger{branches: branches, edit: edit, limit: limit}
	m := Merged{Outcome: NewLeaf, Branches: make([]Branch, 0, len(branches)+1)}
	if i := Find(branches, edit.Rev); i >= 0 {
		m.Outcome = KnownAncestor
		if branches[i].Rev == edit.Rev {
			m.Outcome = KnownLeaf
		}
	}
	for _, b := range branches {
		if b.Rev != edit.Rev && edit.Contains(b.Rev) {
			m.Replaced = append(m.Replaced, b)
			continue
		}
		deeper := known.deepen(b)
		if len(deeper.Ancestors) > len(b.Ancestors) {
			m.Deepened = append(m.Deepened, deeper)
		}
		m.Branches = append(m.Branches, deeper)
	}
	if m.Outcome == NewLeaf {
		m.Branches = append(m.Branches, known.deepen(Branch{Rev: edit.Rev, Deleted: edit.Deleted}))
	}
	Sort(m.Branches)
	return m
}

// agreeing returns how many of the edit's ancestors can be used: those before the first one that contradicts the tree.
func agreeing(branches []Branch, edit Branch) int {
	r := edit.Rev
	for i, id := range edit.Ancestors {
		if known, ok := parentIn(branches, r); ok && known != id {
			return i
		}
		r = Rev{Pos: r.Pos - 1, ID: id}
	}
	return len(edit.Ancestors)
}

func parentIn(branches []Branch, r Rev) (string, bool) {
	for _, b := range branches {
		if id, ok := b.parent(r); ok {
			return id, true
		}
	}
	return "", false
}

// merger knows the tree of all branches and the edit.
type merger struct {
	branches []Branch
	edit     Branch
	limit    int
	// parents are the known parents, if there are more than fewBranches branches. It is computed on demand, which is
	// never the case if every branch knows its first revision.
	parents map[Rev]string
}

// fewBranches is the maximum number of branches that are searched one by one.
const fewBranches = 8

// parent returns the parent of a revision, if a branch knows it.
func (m *merger) parent(r Rev) (id string, ok bool) {
	if r.Pos <= 1 {
		return "", false
	}
	if len(m.branches) <= fewBranches {
		return parentIn(m.branches, r)
	}
	if m.parents == nil {
		m.parents = map[Rev]string{}
		for _, b := range m.branches {
			child := b.Rev
			for _, id := range b.Ancestors {
				// The first branch takes precedence.
				if _, ok := m.parents[child]; !ok {
					m.parents[child] = id
				}
				child = Rev{Pos: child.Pos - 1, ID: id}
			}
		}
	}
	id, ok = m.parents[r]
	return id, ok
}

// deepen adds all known older ancestors to a branch, up to the limit. If there are none, it returns the branch
// unchanged.
func (m *merger) deepen(b Branch) Branch {
	ancestors := b.Ancestors
	for r := b.root(); len(ancestors) < m.limit-1; {
		id, ok := m.parent(r)
		if !ok {
			if id, ok = m.edit.parent(r); !ok {
				break
			}
		}
		if len(ancestors) == len(b.Ancestors) {
			ancestors = slices.Clip(ancestors) // makes the first append copy
		}
		ancestors = append(ancestors, id)
		r = Rev{Pos: r.Pos - 1, ID: id}
	}
	if len(ancestors) > m.limit-1 {
		ancestors = ancestors[:m.limit-1]
	}
	return Branch{Rev: b.Rev, Deleted: b.Deleted, Ancestors: ancestors}
}

package revtree

import "slices"

// Outcome says what a merged revision turned out to be.
type Outcome int

// The outcomes of Merge.
const (
	// NewLeaf: the revision was not known; it extends a branch or begins one.
	NewLeaf Outcome = iota
	// KnownLeaf: it is a leaf already.
	KnownLeaf
	// KnownAncestor: it is in the history of a leaf.
	KnownAncestor
)

// Merged is the result of Merge.
type Merged struct {
	Outcome Outcome
	// Branches are all branches of the document afterwards, in winner order; the last one wins.
	Branches []Branch
	// Replaced are the former leaves that are history now.
	Replaced []Branch
	// Deepened are those of Branches, other than a new leaf's, that learned older ancestors.
	Deepened []Branch
}

// Changed reports whether there is anything to write.
func (m Merged) Changed() bool {
	return m.Outcome == NewLeaf || len(m.Replaced) > 0 || len(m.Deepened) > 0
}

// Winner is the winning branch.
func (m Merged) Winner() Branch { return m.Branches[len(m.Branches)-1] }

// Merge adds a revision with its history to the branches of a document (new_edits=false). limit is the number of
// revisions that a branch keeps, its leaf included (R5); the newest are kept.
//
// What is known of a revision's history comes from all branches together: the tree. Where an edit contradicts it (the
// same revision with another parent, which hashes exclude but clients can bring), what was there first stands and the
// rest of the edit's history is not used. branches is not modified; slices of it and of edit are shared.
//
// It costs as much as all branches are long together: Tree does many merges for less.
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

// agreeing is how many of the edit's ancestors can be used: up to the first that the tree contradicts.
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
	// parents are what the branches know, where there are more than fewBranches. Made when it is needed: where every
	// branch goes back to its first revision, it is not.
	parents map[Rev]string
}

// fewBranches is how many are looked through one by one.
const fewBranches = 8

// parent is what the branches know of a revision's parent.
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
				if _, ok := m.parents[child]; !ok { // the first one stands
					m.parents[child] = id
				}
				child = Rev{Pos: child.Pos - 1, ID: id}
			}
		}
	}
	id, ok = m.parents[r]
	return id, ok
}

// deepen adds to a branch all older ancestors that are known, up to the limit. The branch is returned as it is where
// there are none.
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
			ancestors = slices.Clip(ancestors) // the first append copies
		}
		ancestors = append(ancestors, id)
		r = Rev{Pos: r.Pos - 1, ID: id}
	}
	if len(ancestors) > m.limit-1 {
		ancestors = ancestors[:m.limit-1]
	}
	return Branch{Rev: b.Rev, Deleted: b.Deleted, Ancestors: ancestors}
}

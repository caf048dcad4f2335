package revtree

import "slices"

// Branch is one edit branch: a leaf and what is known of its history. Branches of a document are kept in winner order:
// the last one wins.
type Branch struct {
	Rev     Rev
	Deleted bool
	// Ancestors are the ids at the positions Rev.Pos-1 and down, without gaps.
	Ancestors []string
}

// Compare orders branches: deleted ones first, then by revision. The greatest is the winner (R2).
func (b Branch) Compare(c Branch) int {
	if b.Deleted != c.Deleted {
		if b.Deleted {
			return -1
		}
		return 1
	}
	return b.Rev.Compare(c.Rev)
}

// Sort brings branches into winner order.
func Sort(branches []Branch) { slices.SortFunc(branches, Branch.Compare) }

// at is the id that the branch has at a position, and whether it has one.
func (b Branch) at(pos int64) (string, bool) {
	i := b.Rev.Pos - pos
	switch {
	case i == 0:
		return b.Rev.ID, true
	case i < 0 || i > int64(len(b.Ancestors)):
		return "", false
	}
	return b.Ancestors[i-1], true
}

// Contains reports whether r is the leaf or one of its known ancestors.
func (b Branch) Contains(r Rev) bool {
	id, ok := b.at(r.Pos)
	return ok && id == r.ID
}

// parent is the known parent of r in the branch.
func (b Branch) parent(r Rev) (string, bool) {
	if !b.Contains(r) {
		return "", false
	}
	return b.at(r.Pos - 1)
}

// root is the oldest known revision of the branch.
func (b Branch) root() Rev {
	n := len(b.Ancestors)
	if n == 0 {
		return b.Rev
	}
	return Rev{Pos: b.Rev.Pos - int64(n), ID: b.Ancestors[n-1]}
}

// Path is the branch's revisions, newest first.
func (b Branch) Path() []Rev {
	path := make([]Rev, 0, len(b.Ancestors)+1)
	path = append(path, b.Rev)
	for i, id := range b.Ancestors {
		path = append(path, Rev{Pos: b.Rev.Pos - int64(i) - 1, ID: id})
	}
	return path
}

// Find is the index of a branch that contains r: one whose leaf it is if there is one, else the best branch; -1 where r
// is not known.
func Find(branches []Branch, r Rev) int {
	found := -1
	for i, b := range branches {
		if b.Rev == r {
			return i
		}
		if b.Contains(r) {
			found = i
		}
	}
	return found
}

// PossibleAncestors are the leaves that a revision at a position below or at max might descend from: those at lower
// positions (_revs_diff).
func PossibleAncestors(branches []Branch, max int64) []Rev {
	var revs []Rev
	for _, b := range branches {
		if b.Rev.Pos < max {
			revs = append(revs, b.Rev)
		}
	}
	return revs
}

package revtree

// Branch is one edit branch: a leaf and what is known of its history. The branches of a document are kept in winner
// order: the last one wins.
type Branch struct {
	Rev     Rev
	Deleted bool
	// Ancestors are the ids at positions Rev.Pos-1 and below, without gaps.
	Ancestors []string
}

// at returns the branch's id at a position, if it has one.
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

// parent returns the parent of r, if the branch knows it.
func (b Branch) parent(r Rev) (string, bool) {
	if !b.Contains(r) {
		return "", false
	}
	return b.at(r.Pos - 1)
}

// root returns the oldest known revision of the branch.
func (b Branch) root() Rev {
	n := len(b.Ancestors)
	if n == 0 {
		return b.Rev
	}
	return Rev{Pos: b.Rev.Pos - int64(n), ID: b.Ancestors[n-1]}
}

// Path returns the branch's revisions, newest first.
func (b Branch) Path() []Rev {
	path := make([]Rev, 0, len(b.Ancestors)+1)
	path = append(path, b.Rev)
	for i, id := range b.Ancestors {
		path = append(path, Rev{Pos: b.Rev.Pos - int64(i) - 1, ID: id})
	}
	return path
}

// Find returns the index of the branch that contains r: the one with leaf r if there is one, otherwise the best one. It
// returns -1 if r is not known.
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

// PossibleAncestors returns the leaves from which a revision at a position up to max may descend: those at positions
// less than max (_revs_diff).
func PossibleAncestors(branches []Branch, max int64) []Rev {
	var revs []Rev
	for _, b := range branches {
		if b.Rev.Pos < max {
			revs = append(revs, b.Rev)
		}
	}
	return revs
}

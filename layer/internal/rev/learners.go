package rev

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/tuple"
)

// A branch may know less of its history than others do: it was made when the limit of revisions was lower. It learns
// the rest with the next merge, whatever that brings. So a tree of some branches of a document has to have those that
// can learn, and those that they learn from. It also has to have those that know more of the branches that an edit
// concerns, since the edit's branch learns that too. All branches that know a revision's parent know the same one, so
// one of them is enough.

// maxLearners is how many branches a tree has for no other reason than that they can learn. Others learn with later
// edits.
const maxLearners = 256

// storedRev is a revision, with its id as stored.
type storedRev struct {
	pos int64
	id  string
}

// rootOf is the oldest revision that a branch knows.
func (h histories) rootOf(l *LeafKV) storedRev {
	own := h.of(l)
	if own.length == 0 {
		return storedRev{l.Rev.Pos, string(db.AppendRevID(nil, l.Rev.ID))}
	}
	return storedRev{l.Rev.Pos - own.length, own.root}
}

// pickLearners picks the branches that can learn from others, and those that they and the picked ones learn from.
func pickLearners(leaves []LeafKV, all histories, picked []bool, limit int) error {
	asked, open := map[storedRev]bool{}, map[storedRev]bool{}
	ask := func(root storedRev) {
		if root.pos > 1 && !asked[root] {
			asked[root], open[root] = true, true
		}
	}
	learners := map[storedRev][]int{}
	for i := range leaves {
		l := &leaves[i]
		root := all.rootOf(l)
		if !picked[i] {
			if all.of(l).length >= int64(limit)-1 {
				continue
			}
			learners[root] = append(learners[root], i)
		}
		ask(root)
	}
	room := maxLearners
	for len(open) > 0 {
		teachers, err := all.teachers(leaves, open)
		if err != nil {
			return err
		}
		clear(open)
		for root, t := range teachers {
			picked[t.leaf] = true
			ask(all.rootOf(&leaves[t.leaf]))
			for _, i := range learners[root] {
				if !picked[i] && room > 0 {
					picked[i] = true
					room--
				}
			}
		}
	}
	return nil
}

// teacher is a branch that knows ancestors of a revision: how many.
type teacher struct {
	leaf   int
	beyond int64
}

// teachers finds for each of the revisions the branch that knows most ancestors of it.
func (h histories) teachers(leaves []LeafKV, of map[storedRev]bool) (map[storedRev]teacher, error) {
	found := map[storedRev]teacher{}
	teaches := func(i int, r storedRev, beyond int64) {
		if beyond > found[r].beyond {
			found[r] = teacher{i, beyond}
		}
	}
	seen := make(map[*history]bool, len(h))
	var id []byte
	for i := range leaves {
		l := &leaves[i]
		own := h.of(l)
		id = db.AppendRevID(id[:0], l.Rev.ID)
		if of[storedRev{l.Rev.Pos, string(id)}] {
			teaches(i, storedRev{l.Rev.Pos, string(id)}, own.length)
		}
		if seen[own] {
			continue
		}
		seen[own] = true
		if len(of) <= FewBranches && !containsAny(l.Ancestors, of) {
			continue // a search for bytes costs much less than to go through a long history
		}
		oldest := l.Rev.Pos - own.length
		err := eachAncestor(l, func(pos int64, id []byte) {
			if of[storedRev{pos, string(id)}] {
				teaches(i, storedRev{pos, string(id)}, pos-oldest)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func containsAny(ancestors []byte, of map[storedRev]bool) bool {
	for r := range of {
		if bytes.Contains(ancestors, []byte(r.id)) {
			return true
		}
	}
	return false
}

// eachAncestor goes through the history of a branch as it is stored.
func eachAncestor(l *LeafKV, f func(pos int64, id []byte)) error {
	pos := l.Rev.Pos
	for rest := l.Ancestors; len(rest) > 0; {
		next, err := tuple.Skip(rest)
		if err != nil {
			return db.Corrupt("revision history", err)
		}
		pos--
		f(pos, rest[:len(rest)-len(next)])
		rest = next
	}
	return nil
}

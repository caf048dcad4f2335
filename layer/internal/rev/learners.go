package rev

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/tuple"
)

// A branch may know less of its history than others do, if it was written when the revision limit was lower. It learns
// the rest with the next merge, whatever the edit. A partial tree therefore needs the branches that can learn, called
// learners, and those that they learn from, called teachers. It also needs the branches that know more of the edit's
// own history, since the edit's branch learns that too. All branches that know the parent of a revision know the same
// one, so that one teacher is enough.

// maxLearners limits how many branches are in a tree only because they can learn. Others learn with later edits.
const maxLearners = 256

// storedRev is a revision with its encoded id.
type storedRev struct {
	pos int64
	id  string
}

// rootOf returns the oldest revision that a branch knows.
func (h histories) rootOf(l *LeafKV) storedRev {
	own := h.of(l)
	if own.length == 0 {
		return storedRev{l.Rev.Pos, string(db.AppendRevID(nil, l.Rev.ID))}
	}
	return storedRev{l.Rev.Pos - own.length, own.root}
}

// pickLearners picks the branches that can learn from others, and the teachers of all picked branches.
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

// teacher is a branch that knows ancestors of a revision, and their number.
type teacher struct {
	leaf   int
	beyond int64
}

// teachers finds, for each of the revisions, the branch that knows most of its ancestors.
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
			continue // searching the bytes is much faster than decoding a long history
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

// eachAncestor calls f with each revision in the encoded history of a branch.
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

package layer

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// A tree of all branches of a document is not made if it would have more revisions than the cache keeps: each batch of
// edits would spend its transaction on making it again. Such a tree has only the branches that the edits can concern:
// those that share a revision id with them, and those that can learn from another (treelearners.go). Of the other
// branches only the best one and their number matter. They learn no ancestors from these edits.

// relatedTree is the part of a document's tree that edits have to do with.
type relatedTree struct {
	*revtree.Tree
	others  []leafKV // those that are not in the tree, in winner order
	partial bool     // one of the others does not know its whole history
}

// Len is the number of branches.
func (r *relatedTree) Len() int { return r.Tree.Len() + len(r.others) }

// Partial reports whether a branch does not know its whole history.
func (r *relatedTree) Partial() bool { return r.partial || r.Tree.Partial() }

// whole reports whether the tree has all branches.
func (r *relatedTree) whole() bool { return len(r.others) == 0 }

// maxTreeBytes is how many bytes of different histories are made a tree of. Tests change it.
var maxTreeBytes = 17 * cachedRevisions

// treeFor is the tree of leaves, winner last, for edits.
func treeFor(leaves []leafKV, limit int, edits ...*Edit) (*relatedTree, error) {
	r := &relatedTree{}
	related := leaves
	if histories := historiesOf(leaves); histories != nil {
		ids := revIDs(edits)
		picked := make([]bool, len(leaves))
		for i := range leaves {
			l := &leaves[i]
			h := histories.of(l)
			if h.seen == nil {
				if err := h.look(l.ancestors, ids); err != nil {
					return nil, err
				}
			}
			_, own := ids[string(appendRevID(nil, l.rev.ID))]
			picked[i] = own || *h.seen
		}
		if err := pickLearners(leaves, histories, picked, limit); err != nil {
			return nil, err
		}
		related = nil
		for i := range leaves {
			l := &leaves[i]
			if picked[i] {
				related = append(related, *l)
				continue
			}
			r.others = append(r.others, *l)
			r.partial = r.partial || histories.of(l).length < l.rev.Pos-1
		}
	}
	branches, err := branchesOf(related)
	if err != nil {
		return nil, err
	}
	r.Tree = treeOf(branches, limit)
	return r, nil
}

// history is one that some leaves have.
type history struct {
	length int64
	root   string // the id of the oldest revision as stored
	seen   *bool  // whether it has an id that was looked for; nil before
}

// histories are the different ones of a document's leaves, by the position of the leaf and the ids as stored.
type histories map[historyKey]*history

type historyKey struct {
	pos int64
	ids string
}

func (h histories) of(l *leafKV) *history { return h[historyKey{l.rev.Pos, string(l.ancestors)}] }

// historiesOf are the different histories of leaves, nil where they are not too many bytes.
func historiesOf(leaves []leafKV) histories {
	sum := 0
	for i := range leaves {
		sum += len(leaves[i].ancestors)
	}
	if sum <= maxTreeBytes {
		return nil
	}
	sum = 0
	all := histories{}
	for i := range leaves {
		if l := &leaves[i]; all.of(l) == nil {
			all[historyKey{l.rev.Pos, string(l.ancestors)}] = &history{}
			sum += len(l.ancestors)
		}
	}
	if sum <= maxTreeBytes {
		return nil
	}
	return all
}

// look goes through a history as it is stored.
func (h *history) look(ancestors []byte, ids map[string]struct{}) error {
	h.seen = new(bool)
	for len(ancestors) > 0 {
		rest, err := tuple.Skip(ancestors)
		if err != nil {
			return corrupt("revision history", err)
		}
		if _, ok := ids[string(ancestors[:len(ancestors)-len(rest)])]; ok {
			*h.seen = true
		}
		if h.length++; len(rest) == 0 {
			h.root = string(ancestors)
		}
		ancestors = rest
	}
	return nil
}

// revIDs are the ids of the revisions that edits bring and come from, as they are stored.
func revIDs(edits []*Edit) map[string]struct{} {
	ids := map[string]struct{}{}
	for _, e := range edits {
		ids[string(appendRevID(nil, e.Rev.ID))] = struct{}{}
		for _, r := range e.Ancestors {
			ids[string(appendRevID(nil, r.ID))] = struct{}{}
		}
	}
	return ids
}

// treeOf prepares branches, winner last, for many merges.
func treeOf(branches []revtree.Branch, limit int) *revtree.Tree {
	tree := revtree.NewTree(limit, fittingIDs)
	tree.Deepen = deepenIDs
	for i := range branches {
		tree.Add(branches[i])
	}
	return tree
}

// deepenIDs bounds how many ancestors the stored branches of a document may learn in one transaction: each of those
// branches is written again.
const deepenIDs = 50_000

// fittingIDs is how many of a branch's ancestors can be stored with it.
func fittingIDs(ids []string) int {
	const longest = 2*revtree.MaxTextID + 3 // of an encoded id
	if len(ids)*longest <= maxHistory {
		return len(ids)
	}
	n := 0
	for rest := encodeHistory(ids); len(rest) > 0; n++ {
		var err error
		if _, rest, err = takeRevID(rest); err != nil {
			break
		}
	}
	return n
}

// cachedRevisions bounds the revisions of all trees that are kept; each takes some 150 bytes.
const cachedRevisions = 500_000

// cachedBranches is from how many branches on a document's tree is kept. Tests change it.
var cachedBranches = 256

// addConflicts reads the leaves besides the winner.
func addConflicts(r kv.Reader, keys space, doc *Document) error {
	tree, err := waitTree(readTree(r, keys, doc.ID), keys, doc.ID)
	if err != nil {
		return err
	}
	doc.Conflicts, doc.DeletedConflicts = tree.conflicts(false), tree.conflicts(true)
	return nil
}

// knows tells of revisions that the tree does not know whether the other branches do.
func (r *relatedTree) knows(unknown map[Rev]bool) error {
	byID := make(map[string][]Rev, len(unknown))
	for rev := range unknown {
		id := string(appendRevID(nil, rev.ID))
		byID[id] = append(byID[id], rev)
	}
	for i := range r.others {
		l := &r.others[i]
		delete(unknown, l.rev)
		err := eachAncestor(l, func(pos int64, id []byte) {
			for _, rev := range byID[string(id)] {
				if rev.Pos == pos {
					delete(unknown, rev)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

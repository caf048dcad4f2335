package rev

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// If the tree of all branches of a document would have more revisions than the cache keeps, no such tree is made: every
// batch of edits would spend its transaction on making it again. Instead the tree has only the branches that the edits
// can affect: those that share a revision id with an edit, and those that can learn from another (learners.go). Of the
// others, only the best branch and their number are needed; they learn no ancestors from these edits.

// RelatedTree is the part of a document's tree that edits can affect.
type RelatedTree struct {
	*revtree.Tree
	Others  []LeafKV // leaves that are not in the tree, in winner order
	partial bool     // one of Others does not know its whole history
}

// Len returns the number of branches.
func (r *RelatedTree) Len() int { return r.Tree.Len() + len(r.Others) }

// Partial reports whether a branch does not know its whole history.
func (r *RelatedTree) Partial() bool { return r.partial || r.Tree.Partial() }

// Whole reports whether the tree contains all branches.
func (r *RelatedTree) Whole() bool { return len(r.Others) == 0 }

// MaxTreeBytes is the maximum size of the different histories in a tree. Tests change it.
var MaxTreeBytes = 17 * CachedRevisions

// TreeFor returns the tree of leaves, winner last, for the edits.
func TreeFor(leaves []LeafKV, limit int, edits ...*Edit) (*RelatedTree, error) {
	r := &RelatedTree{}
	related := leaves
	if histories := historiesOf(leaves); histories != nil {
		ids := revIDs(edits)
		picked := make([]bool, len(leaves))
		for i := range leaves {
			l := &leaves[i]
			h := histories.of(l)
			if h.seen == nil {
				if err := h.look(l.Ancestors, ids); err != nil {
					return nil, err
				}
			}
			_, own := ids[string(db.AppendRevID(nil, l.Rev.ID))]
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
			r.Others = append(r.Others, *l)
			r.partial = r.partial || histories.of(l).length < l.Rev.Pos-1
		}
	}
	branches, err := BranchesOf(related)
	if err != nil {
		return nil, err
	}
	r.Tree = TreeOf(branches, limit)
	return r, nil
}

// history is the history of some leaves.
type history struct {
	length int64
	root   string // the encoded id of the oldest revision
	seen   *bool  // whether it contains an id that was searched for; nil before the search
}

// histories are the different histories of a document's leaves, by the position of the leaf and the encoded ids.
type histories map[historyKey]*history

type historyKey struct {
	pos int64
	ids string
}

func (h histories) of(l *LeafKV) *history { return h[historyKey{l.Rev.Pos, string(l.Ancestors)}] }

// historiesOf returns the different histories of leaves, or nil if they are small enough for a whole tree.
func historiesOf(leaves []LeafKV) histories {
	sum := 0
	for i := range leaves {
		sum += len(leaves[i].Ancestors)
	}
	if sum <= MaxTreeBytes {
		return nil
	}
	sum = 0
	all := histories{}
	for i := range leaves {
		if l := &leaves[i]; all.of(l) == nil {
			all[historyKey{l.Rev.Pos, string(l.Ancestors)}] = &history{}
			sum += len(l.Ancestors)
		}
	}
	if sum <= MaxTreeBytes {
		return nil
	}
	return all
}

// look searches an encoded history.
func (h *history) look(ancestors []byte, ids map[string]struct{}) error {
	h.seen = new(bool)
	for len(ancestors) > 0 {
		rest, err := tuple.Skip(ancestors)
		if err != nil {
			return db.Corrupt("revision history", err)
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

// revIDs returns the encoded ids of the edits' revisions and their ancestors.
func revIDs(edits []*Edit) map[string]struct{} {
	ids := map[string]struct{}{}
	for _, e := range edits {
		ids[string(db.AppendRevID(nil, e.Rev.ID))] = struct{}{}
		for _, r := range e.Ancestors {
			ids[string(db.AppendRevID(nil, r.ID))] = struct{}{}
		}
	}
	return ids
}

// TreeOf makes a tree of branches, winner last, for many merges.
func TreeOf(branches []revtree.Branch, limit int) *revtree.Tree {
	tree := revtree.NewTree(limit, fittingIDs)
	tree.Deepen = DeepenIDs
	for i := range branches {
		tree.Add(branches[i])
	}
	return tree
}

// DeepenIDs limits how many ancestors the stored branches of a document may learn in one transaction, because each of
// these branches is written again.
const DeepenIDs = 50_000

// fittingIDs returns how many of a branch's ancestors fit into its value.
func fittingIDs(ids []string) int {
	const longest = 2*revtree.MaxTextID + 3 // of an encoded id
	if len(ids)*longest <= maxHistory {
		return len(ids)
	}
	n := 0
	for rest := EncodeHistory(ids); len(rest) > 0; n++ {
		var err error
		if _, rest, err = db.TakeRevID(rest); err != nil {
			break
		}
	}
	return n
}

// CachedRevisions limits the number of revisions in all cached trees. Each takes about 150 bytes.
const CachedRevisions = 500_000

// CachedBranches is the number of branches from which on a document's tree is cached. Tests change it.
var CachedBranches = 256

// AddConflicts reads the leaves other than the winner and adds them to doc.
func AddConflicts(r kv.Reader, keys db.Space, doc *Document) error {
	tree, err := WaitTree(ReadTree(r, keys, doc.ID), keys, doc.ID)
	if err != nil {
		return err
	}
	doc.Conflicts, doc.DeletedConflicts = tree.Conflicts(false), tree.Conflicts(true)
	return nil
}

// Knows removes from unknown the revisions that the branches outside of the tree know.
func (r *RelatedTree) Knows(unknown map[db.Rev]bool) error {
	byID := make(map[string][]db.Rev, len(unknown))
	for rev := range unknown {
		id := string(db.AppendRevID(nil, rev.ID))
		byID[id] = append(byID[id], rev)
	}
	for i := range r.Others {
		l := &r.Others[i]
		delete(unknown, l.Rev)
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

package write

import (
	"bytes"
	"errors"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/revtree"
)

// Replicated edits (new_edits=false): all branches are read, the edit is merged into them, and the winner is chosen
// among all (R2).

// Damage to stored documents.
var (
	ErrNoBody = errors.New("a leaf has no body")
	ErrNoData = errors.New("chunks are missing")
)

// replicatedBranch returns the edit as a branch. It returns Invalid if its history has gaps.
func replicatedBranch(e *rev.Edit) (revtree.Branch, error) {
	b := revtree.Branch{Rev: e.Rev, Deleted: e.Deleted}
	if e.Rev.Pos < 1 {
		return b, fault.Errf(fault.Invalid, "doc_validation", "a replicated revision needs a _rev")
	}
	for i, r := range e.Ancestors {
		if r.Pos != e.Rev.Pos-1-int64(i) || r.Pos < 1 {
			return b, fault.Errf(fault.Invalid, "doc_validation", "the history of revision %s has a gap", e.Rev)
		}
		b.Ancestors = append(b.Ancestors, r.ID)
	}
	return b, nil
}

// merge resolves a replicated edit. All branches have been read, winner last.
func (p *pendingEdit) merge(limit int) error {
	edit, err := replicatedBranch(p.e)
	if err != nil {
		return err
	}
	leaves := p.found.leaves
	if n := len(leaves); n > 0 {
		p.plan.before = &leaves[n-1]
		if err := mustWin(p.plan.before); err != nil {
			return err
		}
	}
	if len(leaves) > rev.FewBranches {
		p.settled, err = p.plan.mergeMany(leaves, p.e, edit, limit)
	} else {
		p.settled, err = p.plan.mergeFew(leaves, p.e, edit, limit)
	}
	return err
}

// mergeFew is merge for a document with few branches.
func (pl *plan) mergeFew(leaves []rev.LeafKV, e *rev.Edit, edit revtree.Branch, limit int) (settled bool, err error) {
	branches, err := rev.BranchesOf(leaves)
	if err != nil {
		return false, err
	}
	m := revtree.Merge(branches, edit, limit)
	pl.branches = int64(len(m.Branches))
	pl.hasAdded = m.Outcome == revtree.NewLeaf
	pl.ancestor = m.Outcome == revtree.KnownAncestor
	pl.parent = nearestKnown(branches, e.Ancestors)
	pl.old = pl.parent
	if pl.hasAdded {
		pl.leftover = slices.ContainsFunc(branches, isPartial)
	}
	if m.Outcome == revtree.KnownLeaf && !m.Changed() {
		return true, nil
	}
	if completes(branches, m.Branches) {
		pl.known = func(r db.Rev) bool { return revtree.Find(m.Branches, r) >= 0 }
	}
	pl.take(leaves, &m)
	return false, nil
}

// mergeMany is merge for a document with many branches.
func (pl *plan) mergeMany(leaves []rev.LeafKV, e *rev.Edit, edit revtree.Branch, limit int) (settled bool, err error) {
	tree, err := rev.TreeFor(leaves, limit, e)
	if err != nil {
		return false, err
	}
	pl.parent = knownParent(tree.Tree, e.Ancestors)
	pl.old = pl.parent
	partial := tree.Partial()
	m := tree.Merge(edit)
	pl.branches = int64(tree.Len())
	pl.hasAdded = m.Outcome == revtree.NewLeaf
	pl.ancestor = m.Outcome == revtree.KnownAncestor
	pl.leftover = pl.hasAdded && partial
	if m.Outcome == revtree.KnownLeaf && len(m.Replaced) == 0 && len(m.Deepened) == 0 {
		return true, nil
	}
	if partial && !tree.Partial() {
		pl.known, pl.others = tree.Known, tree.Knows
	}
	stored := make(map[db.Rev]*rev.LeafKV, len(leaves))
	for i := range leaves {
		stored[leaves[i].Rev] = &leaves[i]
	}
	for _, b := range m.Replaced {
		pl.replaced = append(pl.replaced, stored[b.Rev])
		delete(stored, b.Rev)
	}
	for _, r := range m.Deepened {
		stored[r].Ancestors = rev.EncodeHistory(tree.Branch(r).Ancestors)
		pl.changed = append(pl.changed, stored[r])
	}
	if pl.hasAdded {
		history := rev.EncodeHistory(tree.Branch(edit.Rev).Ancestors)
		pl.added = rev.LeafKV{Rev: edit.Rev, Deleted: edit.Deleted, Ancestors: history}
	}
	for i := len(leaves) - 1; i >= 0 && pl.other == nil; i-- {
		pl.other = stored[leaves[i].Rev]
	}
	return false, nil
}

// knownParent is nearestKnown for a tree.
func knownParent(tree *revtree.Tree, ancestors []db.Rev) db.Rev {
	for _, r := range ancestors {
		if tree.Known(r) {
			return r
		}
	}
	return db.Rev{}
}

// take sets the plan from the result of a merge. leaves are the stored leaves.
func (pl *plan) take(leaves []rev.LeafKV, m *revtree.Merged) {
	stored := func(r db.Rev) *rev.LeafKV {
		for i := range leaves {
			if leaves[i].Rev == r {
				return &leaves[i]
			}
		}
		return nil
	}
	for _, b := range m.Replaced {
		pl.replaced = append(pl.replaced, stored(b.Rev))
	}
	for _, b := range m.Deepened {
		l := stored(b.Rev)
		history := rev.EncodeHistory(b.Ancestors)
		if bytes.Equal(history, l.Ancestors) {
			continue // the longer history does not fit into its value
		}
		l.Ancestors = history
		pl.changed = append(pl.changed, l)
	}
	for i := len(m.Branches) - 1; i >= 0; i-- {
		b := &m.Branches[i]
		if l := stored(b.Rev); l == nil {
			pl.added = rev.LeafKV{Rev: b.Rev, Deleted: b.Deleted, Ancestors: rev.EncodeHistory(b.Ancestors)}
		} else if pl.other == nil {
			pl.other = l
		}
	}
}

// nearestKnown returns the newest of the ancestors that the document has, or zero.
func nearestKnown(branches []revtree.Branch, ancestors []db.Rev) db.Rev {
	for _, r := range ancestors {
		if revtree.Find(branches, r) >= 0 {
			return r
		}
	}
	return db.Rev{}
}

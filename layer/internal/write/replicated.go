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

// Replicated edits (new_edits=false): all branches are read, the edit is merged into them, and the winner is elected
// over all (R2).

var (
	errNoWinner = errors.New("the last of its branches has no sequence")
	ErrNoBody   = errors.New("a leaf has no body")
	ErrNoData   = errors.New("chunks are missing")
)

// mustWin checks what every path relies on: the branch that sorts last carries the document's sequence.
func mustWin(l *rev.LeafKV) error {
	if !l.Winner {
		return db.Corrupt("document", errNoWinner)
	}
	return nil
}

// replicatedBranch is the edit as a branch. Invalid where its history has gaps.
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

// merge resolves a replicated edit; all branches were read, winner last.
func (p *pendingEdit) merge(limit int) error {
	edit, err := replicatedBranch(p.e)
	if err != nil {
		return err
	}
	if n := len(p.leaves); n > 0 {
		p.plan.before = &p.leaves[n-1]
		if err := mustWin(p.plan.before); err != nil {
			return err
		}
	}
	if len(p.leaves) > rev.FewBranches {
		return p.mergeMany(edit, limit)
	}
	branches, err := rev.BranchesOf(p.leaves)
	if err != nil {
		return err
	}
	m := revtree.Merge(branches, edit, limit)
	p.plan.branches = int64(len(m.Branches))
	p.plan.hasAdded = m.Outcome == revtree.NewLeaf
	p.plan.ancestor = m.Outcome == revtree.KnownAncestor
	p.plan.parent = nearestKnown(branches, p.e.Ancestors)
	p.plan.old = p.plan.parent
	if p.plan.hasAdded {
		p.plan.leftover = slices.ContainsFunc(branches, isPartial)
	}
	if p.settled = m.Outcome == revtree.KnownLeaf && !m.Changed(); p.settled {
		return nil
	}
	if completes(branches, m.Branches) {
		p.plan.known = func(r db.Rev) bool { return revtree.Find(m.Branches, r) >= 0 }
	}
	p.mergePlan(&m)
	return nil
}

// mergeMany is the rest of merge for a document with many branches.
func (p *pendingEdit) mergeMany(edit revtree.Branch, limit int) error {
	tree, err := rev.TreeFor(p.leaves, limit, p.e)
	if err != nil {
		return err
	}
	p.plan.parent = knownParent(tree.Tree, p.e.Ancestors)
	p.plan.old = p.plan.parent
	partial := tree.Partial()
	m := tree.Merge(edit)
	p.plan.branches = int64(tree.Len())
	p.plan.hasAdded = m.Outcome == revtree.NewLeaf
	p.plan.ancestor = m.Outcome == revtree.KnownAncestor
	p.plan.leftover = p.plan.hasAdded && partial
	if p.settled = m.Outcome == revtree.KnownLeaf && len(m.Replaced) == 0 && len(m.Deepened) == 0; p.settled {
		return nil
	}
	if partial && !tree.Partial() {
		p.plan.known, p.plan.others = tree.Known, tree.Knows
	}
	stored := make(map[db.Rev]*rev.LeafKV, len(p.leaves))
	for i := range p.leaves {
		stored[p.leaves[i].Rev] = &p.leaves[i]
	}
	for _, b := range m.Replaced {
		p.plan.replaced = append(p.plan.replaced, stored[b.Rev])
		delete(stored, b.Rev)
	}
	for _, r := range m.Deepened {
		stored[r].Ancestors = rev.EncodeHistory(tree.Branch(r).Ancestors)
		p.plan.changed = append(p.plan.changed, stored[r])
	}
	if p.plan.hasAdded {
		p.plan.added = rev.LeafKV{Rev: edit.Rev, Deleted: edit.Deleted, Ancestors: rev.EncodeHistory(tree.Branch(edit.Rev).Ancestors)}
	}
	for i := len(p.leaves) - 1; i >= 0 && p.plan.other == nil; i-- {
		p.plan.other = stored[p.leaves[i].Rev]
	}
	return nil
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

// mergePlan turns the merge's result into KVs to write.
func (p *pendingEdit) mergePlan(m *revtree.Merged) {
	stored := func(r db.Rev) *rev.LeafKV {
		for i := range p.leaves {
			if p.leaves[i].Rev == r {
				return &p.leaves[i]
			}
		}
		return nil
	}
	for _, b := range m.Replaced {
		p.plan.replaced = append(p.plan.replaced, stored(b.Rev))
	}
	for _, b := range m.Deepened {
		l := stored(b.Rev)
		history := rev.EncodeHistory(b.Ancestors)
		if bytes.Equal(history, l.Ancestors) {
			continue // what it could learn does not fit its value
		}
		l.Ancestors = history
		p.plan.changed = append(p.plan.changed, l)
	}
	for i := len(m.Branches) - 1; i >= 0; i-- {
		b := &m.Branches[i]
		if l := stored(b.Rev); l == nil {
			p.plan.added = rev.LeafKV{Rev: b.Rev, Deleted: b.Deleted, Ancestors: rev.EncodeHistory(b.Ancestors)}
		} else if p.plan.other == nil {
			p.plan.other = l
		}
	}
}

// nearestKnown is the newest of the ancestors that the document has, zero if none.
func nearestKnown(branches []revtree.Branch, ancestors []db.Rev) db.Rev {
	for _, r := range ancestors {
		if revtree.Find(branches, r) >= 0 {
			return r
		}
	}
	return db.Rev{}
}

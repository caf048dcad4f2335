package write

import (
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// treeEdits are the replicated edits of a family. All branches are read once.
type treeEdits struct {
	*family
	tree *rev.RelatedTree
	edit revtree.Branch // the edit planned last
	// partial reports that some branch did not know its whole history.
	partial bool
}

func (e *treeEdits) read(ps []pendingEdit) error {
	t := e.t
	if cached, ok := StateOf(t.Db.Store).trees.take(treeKey(t.Keys, e.id)); ok && cached.limit == t.Cfg.RevsLimit {
		prefix := t.Keys.Doc(nil, keyspace.Revisions, e.id)
		// The winner's sequence tells whether any branch has changed, so that a conflict on its key covers all
		// branches.
		rows := db.GetRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
		leaves, err := rev.ReadLeaves(rows, len(prefix), false, nil)
		if err != nil {
			return err
		}
		if len(leaves) == 1 && leaves[0].Winner && leaves[0].Seq == cached.seq {
			e.before, e.tree = &leaves[0], &rev.RelatedTree{Tree: cached.Tree}
			e.tree.Deepen = rev.DeepenIDs
			return nil
		}
	}
	rows := db.GetRange(t, t.Keys.Doc(nil, keyspace.Revisions, e.id), kv.RangeOptions{Mode: kv.ModeWantAll})
	leaves, err := rev.ReadLeaves(rows, len(t.Keys.Doc(nil, keyspace.Revisions, e.id)), true, nil)
	if err != nil {
		return err
	}
	if n := len(leaves); n > 0 {
		e.before = &leaves[n-1]
		if err := mustWin(e.before); err != nil {
			return err
		}
	}
	edits := make([]*rev.Edit, len(ps))
	for i := range ps {
		edits[i] = ps[i].e
	}
	e.tree, err = rev.TreeFor(leaves, t.Cfg.RevsLimit, edits...)
	return err
}

func (e *treeEdits) plan(p *pendingEdit) error {
	var err error
	if e.edit, err = replicatedBranch(p.e); err != nil {
		return err
	}
	outcome := e.tree.Outcome(p.e.Rev)
	p.plan = plan{
		before:   e.before,
		hasAdded: outcome == revtree.NewLeaf,
		ancestor: outcome == revtree.KnownAncestor,
		added:    rev.LeafKV{Rev: p.e.Rev, Deleted: p.e.Deleted},
	}
	p.plan.parent = knownParent(e.tree.Tree, p.e.Ancestors)
	p.plan.old = p.plan.parent
	e.partial = e.partial || e.tree.Partial()
	p.plan.leftover = p.plan.hasAdded && e.partial
	return nil
}

func (e *treeEdits) take(p *pendingEdit) {
	m := e.tree.Merge(e.edit)
	if e.partial && !e.tree.Partial() {
		e.t.Spent += db.ReadBudget + 1 // later edits must not find bodies that dropForgotten will remove
	}
	for _, b := range m.Replaced {
		e.replace(b.Rev, func() *rev.LeafKV { return &rev.LeafKV{Rev: b.Rev, Deleted: b.Deleted} })
	}
	if m.Outcome == revtree.NewLeaf {
		added := p.plan.added
		e.added[added.Rev] = &added
	}
	for _, r := range m.Deepened {
		if e.added[r] == nil {
			deleted, _ := e.tree.Leaf(r)
			e.changed[r] = &rev.LeafKV{Rev: r, Deleted: deleted, Winner: r == e.before.Rev}
		}
	}
	p.settled = m.Outcome != revtree.NewLeaf && len(m.Replaced) == 0 && len(m.Deepened) == 0
}

func (e *treeEdits) rest() (*rev.LeafKV, int64) {
	var best revtree.Branch
	found := false
	for b := range e.tree.All() {
		if e.added[b.Rev] == nil && (!found || b.Compare(best) > 0) {
			best, found = b, true
		}
	}
	n := int64(e.tree.Len())
	if others := e.tree.Others; len(others) > 0 {
		if l := &others[len(others)-1]; !found || l.Order(&rev.LeafKV{Rev: best.Rev, Deleted: best.Deleted}) > 0 {
			return l, n
		}
	}
	if !found {
		return nil, n
	}
	l := e.changed[best.Rev]
	if l == nil {
		l = &rev.LeafKV{Rev: best.Rev, Deleted: best.Deleted, Winner: best.Rev == e.before.Rev}
	}
	l.Ancestors = e.history(l)
	return l, n
}

func (e *treeEdits) dropForgotten() ([]attach.AttachmentOf, error) {
	if !e.partial || e.tree.Partial() {
		return nil, nil
	}
	return dropForgotten(e.t, e.id, e.tree.Known, e.tree.Knows)
}

func (e *treeEdits) history(l *rev.LeafKV) []byte {
	return rev.EncodeHistory(e.tree.Branch(l.Rev).Ancestors)
}

package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// treeEdits are replicated edits of a family: all branches are read once.
type treeEdits struct {
	*family
	tree *relatedTree
	edit revtree.Branch // planned last
	// partial is set once a branch did not know its whole history.
	partial bool
}

func (e *treeEdits) read(ps []pendingEdit) error {
	t := e.t
	if cached, ok := writeOf(t.db.store).trees.take(treeKey(t.keys, e.id)); ok && cached.limit == t.cfg.revsLimit {
		prefix := t.keys.doc(nil, keyspace.Revisions, e.id)
		// What the winner's sequence says of all branches, the conflict with its key does.
		rows := getRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
		leaves, err := readLeaves(rows, len(prefix), false, nil)
		if err != nil {
			return err
		}
		if len(leaves) == 1 && leaves[0].winner && leaves[0].seq == cached.seq {
			e.before, e.tree = &leaves[0], &relatedTree{Tree: cached.tree}
			e.tree.Deepen = deepenIDs
			return nil
		}
	}
	rows := getRange(t, t.keys.doc(nil, keyspace.Revisions, e.id), kv.RangeOptions{Mode: kv.ModeWantAll})
	leaves, err := readLeaves(rows, len(t.keys.doc(nil, keyspace.Revisions, e.id)), true, nil)
	if err != nil {
		return err
	}
	if n := len(leaves); n > 0 {
		e.before = &leaves[n-1]
		if err := mustWin(e.before); err != nil {
			return err
		}
	}
	edits := make([]*Edit, len(ps))
	for i := range ps {
		edits[i] = ps[i].e
	}
	e.tree, err = treeFor(leaves, t.cfg.revsLimit, edits...)
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
		added:    leafKV{rev: p.e.Rev, deleted: p.e.Deleted},
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
		e.t.spent += readBudget + 1 // later edits must not find the bodies that dropForgotten is going to remove
	}
	for _, b := range m.Replaced {
		e.replace(b.Rev, func() *leafKV { return &leafKV{rev: b.Rev, deleted: b.Deleted} })
	}
	if m.Outcome == revtree.NewLeaf {
		added := p.plan.added
		e.added[added.rev] = &added
	}
	for _, r := range m.Deepened {
		if e.added[r] == nil {
			deleted, _ := e.tree.Leaf(r)
			e.changed[r] = &leafKV{rev: r, deleted: deleted, winner: r == e.before.rev}
		}
	}
	p.settled = m.Outcome != revtree.NewLeaf && len(m.Replaced) == 0 && len(m.Deepened) == 0
}

func (e *treeEdits) rest() (*leafKV, int64) {
	var best revtree.Branch
	found := false
	for b := range e.tree.All() {
		if e.added[b.Rev] == nil && (!found || b.Compare(best) > 0) {
			best, found = b, true
		}
	}
	n := int64(e.tree.Len())
	if others := e.tree.others; len(others) > 0 {
		if l := &others[len(others)-1]; !found || l.order(&leafKV{rev: best.Rev, deleted: best.Deleted}) > 0 {
			return l, n
		}
	}
	if !found {
		return nil, n
	}
	l := e.changed[best.Rev]
	if l == nil {
		l = &leafKV{rev: best.Rev, deleted: best.Deleted, winner: best.Rev == e.before.rev}
	}
	l.ancestors = e.history(l)
	return l, n
}

func (e *treeEdits) dropForgotten() ([]attachmentOf, error) {
	if !e.partial || e.tree.Partial() {
		return nil, nil
	}
	return e.t.dropForgotten(e.id, e.tree.Known, e.tree.knows)
}

func (e *treeEdits) history(l *leafKV) []byte { return encodeHistory(e.tree.Branch(l.rev).Ancestors) }

package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Interactive edits: the client names the leaf that it extends, or none. At most two branches are read, whatever their number (rfc-001,
// Update Path; R3).

// insert resolves an edit without a parent: the winner, if there is one, was read.
func (p *pendingEdit) insert(limit int) error {
	if len(p.leaves) == 0 {
		p.plan = plan{hasAdded: true, branches: 1, added: leafKV{rev: Rev{Pos: 1}, deleted: p.e.Deleted}}
		return nil
	}
	winner := &p.leaves[0]
	if err := mustWin(winner); err != nil {
		return err
	}
	if !winner.deleted || p.e.Deleted {
		return errConflict() // as CouchDB, also for another deletion of a deleted document
	}
	p.extend(winner, winner, nil, limit) // R6
	p.plan.old = Rev{}
	p.plan.parent = Rev{}
	return nil
}

// extend plans a child of old. other is the best branch besides old, where it may matter.
func (p *pendingEdit) extend(old, winner, other *leafKV, limit int) {
	p.plan = plan{
		before:   winner,
		hasAdded: true,
		added:    leafKV{rev: Rev{Pos: old.rev.Pos + 1}, deleted: p.e.Deleted, ancestors: extendHistory(old, limit)},
		replaced: []*leafKV{old},
		other:    other,
		branches: winner.branches,
		parent:   old.rev,
		old:      old.rev,
	}
}

// resolveUpdate resolves an edit that extends a live leaf with a live revision. That leaf was read; where it is not the winner, the winner
// is read now.
func (p *pendingEdit) resolveUpdate(t *txn) error {
	value, err := p.leaf.Wait()
	if err != nil {
		return err
	}
	p.leaf = nil
	if value == nil {
		return errConflict()
	}
	old := leafKV{rev: p.e.Rev}
	if err := parseLeafValue(&old, value, true); err != nil {
		return err
	}
	p.leaves = append(p.few[:0], old)
	if old.winner {
		p.extend(&p.leaves[0], &p.leaves[0], nil, t.cfg.revsLimit)
		return nil
	}
	prefix := t.close(t.keys.doc(t.open(), keyspace.Revisions, p.e.ID))
	p.rows = getRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	return p.later(func() error {
		if err := p.takeRows(t); err != nil {
			return err
		}
		if len(p.leaves) != 2 {
			return corrupt("document", errNoWinner)
		}
		old, winner := &p.leaves[0], &p.leaves[1]
		if err := mustWin(winner); err != nil {
			return err
		}
		p.extend(old, winner, winner, t.cfg.revsLimit)
		return nil
	})
}

// resolveDelete resolves the deletion of a live leaf. The winner and the branch before it were read: that is enough to know who wins
// after the winner is deleted. A leaf that is neither is read now.
func (p *pendingEdit) resolveDelete(t *txn) error {
	if err := p.takeRows(t); err != nil {
		return err
	}
	if len(p.leaves) == 0 {
		return errConflict()
	}
	winner := &p.leaves[0]
	if err := mustWin(winner); err != nil {
		return err
	}
	for i := range p.leaves {
		if p.leaves[i].rev != p.e.Rev {
			continue
		}
		if p.leaves[i].deleted {
			return errConflict() // R6
		}
		var other *leafKV
		if i == 1 {
			other = winner
		} else if len(p.leaves) > 1 {
			other = &p.leaves[1]
		}
		p.extend(&p.leaves[i], winner, other, t.cfg.revsLimit)
		return nil
	}
	if winner.branches <= int64(len(p.leaves)) {
		return errConflict()
	}
	p.leaf = t.Get(t.close(t.keys.revision(t.open(), p.e.ID, false, p.e.Rev)))
	return p.later(func() error {
		value, err := p.leaf.Wait()
		if err != nil {
			return err
		}
		p.leaf = nil
		if value == nil {
			return errConflict()
		}
		old := &leafKV{rev: p.e.Rev}
		if err := parseLeafValue(old, value, true); err != nil {
			return err
		}
		p.extend(old, winner, winner, t.cfg.revsLimit)
		return nil
	})
}

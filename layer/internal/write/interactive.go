package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Interactive edits: the client names the leaf that it extends, or none. At most two branches are read, whatever their
// number (rfc-001, Update Path; R3).

// insert resolves an edit without a parent: the winner, if there is one, was read.
func (p *pendingEdit) insert(limit int) error {
	if len(p.leaves) == 0 {
		p.plan = plan{hasAdded: true, branches: 1, added: rev.LeafKV{Rev: db.Rev{Pos: 1}, Deleted: p.e.Deleted}}
		return nil
	}
	winner := &p.leaves[0]
	if err := mustWin(winner); err != nil {
		return err
	}
	if !winner.Deleted || p.e.Deleted {
		return errConflict() // as CouchDB, also for another deletion of a deleted document
	}
	p.extend(winner, winner, nil, limit) // R6
	p.plan.old = db.Rev{}
	p.plan.parent = db.Rev{}
	return nil
}

// extend plans a child of old. other is the best branch besides old, where it may matter.
func (p *pendingEdit) extend(old, winner, other *rev.LeafKV, limit int) {
	p.plan = plan{
		before:   winner,
		hasAdded: true,
		added:    rev.LeafKV{Rev: db.Rev{Pos: old.Rev.Pos + 1}, Deleted: p.e.Deleted, Ancestors: rev.ExtendHistory(old, limit)},
		replaced: []*rev.LeafKV{old},
		other:    other,
		branches: winner.Branches,
		parent:   old.Rev,
		old:      old.Rev,
	}
}

// resolveUpdate resolves an edit that extends a live leaf with a live revision. That leaf was read; where it is not the
// winner, the winner is read now.
func (p *pendingEdit) resolveUpdate(t *db.Txn) error {
	value, err := p.leaf.Wait()
	if err != nil {
		return err
	}
	p.leaf = nil
	if value == nil {
		return errConflict()
	}
	old := rev.LeafKV{Rev: p.e.Rev}
	if err := rev.ParseLeafValue(&old, value, true); err != nil {
		return err
	}
	p.leaves = append(p.few[:0], old)
	if old.Winner {
		p.extend(&p.leaves[0], &p.leaves[0], nil, t.Cfg.RevsLimit)
		return nil
	}
	prefix := t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, p.e.ID))
	p.rows = db.GetRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	return p.later(func() error {
		if err := p.takeRows(t); err != nil {
			return err
		}
		if len(p.leaves) != 2 {
			return db.Corrupt("document", errNoWinner)
		}
		old, winner := &p.leaves[0], &p.leaves[1]
		if err := mustWin(winner); err != nil {
			return err
		}
		p.extend(old, winner, winner, t.Cfg.RevsLimit)
		return nil
	})
}

// resolveDelete resolves the deletion of a live leaf. The winner and the branch before it were read: that is enough to
// know who wins after the winner is deleted. A leaf that is neither is read now.
func (p *pendingEdit) resolveDelete(t *db.Txn) error {
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
		if p.leaves[i].Rev != p.e.Rev {
			continue
		}
		if p.leaves[i].Deleted {
			return errConflict() // R6
		}
		var other *rev.LeafKV
		if i == 1 {
			other = winner
		} else if len(p.leaves) > 1 {
			other = &p.leaves[1]
		}
		p.extend(&p.leaves[i], winner, other, t.Cfg.RevsLimit)
		return nil
	}
	if winner.Branches <= int64(len(p.leaves)) {
		return errConflict()
	}
	p.leaf = t.Get(t.Close(t.Keys.Revision(t.Open(), p.e.ID, false, p.e.Rev)))
	return p.later(func() error {
		value, err := p.leaf.Wait()
		if err != nil {
			return err
		}
		p.leaf = nil
		if value == nil {
			return errConflict()
		}
		old := &rev.LeafKV{Rev: p.e.Rev}
		if err := rev.ParseLeafValue(old, value, true); err != nil {
			return err
		}
		p.extend(old, winner, winner, t.Cfg.RevsLimit)
		return nil
	})
}

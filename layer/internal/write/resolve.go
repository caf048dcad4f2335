package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// An interactive edit names the leaf that it extends, or none. At most two branches are read for it, however many there
// are (rfc-001, Update Path; R3). A replicated edit is merged into all branches (replicated.go).

// resolve decides what the edit does to the document's branches, or starts one more read.
func resolve(b *batch, p *pendingEdit) error {
	t, limit := b.t, b.t.Cfg.RevsLimit
	// All edits except those that extend a leaf with a live revision.
	if p.found.leaf == nil {
		if err := p.found.takeRows(t); err != nil {
			return err
		}
	}
	switch {
	case b.o.Replicated:
		return p.merge(limit)
	case p.e.Rev.IsZero():
		return p.insert(limit)
	case p.e.Deleted:
		return p.remove(t, limit)
	default:
		return p.update(t, limit)
	}
}

// resolveRest continues resolve after one more read.
func resolveRest(b *batch, p *pendingEdit) error {
	switch limit := b.t.Cfg.RevsLimit; {
	case p.found.rows != nil:
		return p.updateLoser(b.t, limit)
	case p.found.leaf != nil:
		return p.removeLoser(limit)
	}
	return nil
}

// insert resolves an edit without a parent. The winner, if any, has been read.
func (p *pendingEdit) insert(limit int) error {
	if len(p.found.leaves) == 0 {
		p.plan = plan{hasAdded: true, branches: 1, added: rev.LeafKV{Rev: db.Rev{Pos: 1}, Deleted: p.e.Deleted}}
		return nil
	}
	winner := &p.found.leaves[0]
	if err := mustWin(winner); err != nil {
		return err
	}
	if !winner.Deleted || p.e.Deleted {
		return errConflict() // as in CouchDB, also for deleting a deleted document
	}
	p.plan = extending(winner, winner, nil, p.e.Deleted, limit) // R6
	p.plan.old, p.plan.parent = db.Rev{}, db.Rev{}
	return nil
}

// update resolves an edit that extends a live leaf with a live revision. That leaf has been read; if it is not the
// winner, update starts reading the winner.
func (p *pendingEdit) update(t *db.Txn, limit int) error {
	old, err := p.found.takeLeaf(p.e.Rev)
	if err != nil {
		return err
	}
	p.found.leaves = append(p.found.few[:0], old)
	if old.Winner {
		winner := &p.found.leaves[0]
		p.plan = extending(winner, winner, nil, p.e.Deleted, limit)
		return nil
	}
	o := kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact}
	p.found.rows = db.GetRange(t, leavesOf(t, p.e.ID), o)
	return nil
}

// updateLoser continues update after the winner has been read.
func (p *pendingEdit) updateLoser(t *db.Txn, limit int) error {
	if err := p.found.takeRows(t); err != nil {
		return err
	}
	if len(p.found.leaves) != 2 {
		return db.Corrupt("document", errNoWinner)
	}
	old, winner := &p.found.leaves[0], &p.found.leaves[1]
	if err := mustWin(winner); err != nil {
		return err
	}
	p.plan = extending(old, winner, winner, p.e.Deleted, limit)
	return nil
}

// remove resolves the deletion of a live leaf. The winner and the next best branch have been read, which is enough to
// know the new winner if the winner is deleted. If the leaf is neither, remove starts reading it.
func (p *pendingEdit) remove(t *db.Txn, limit int) error {
	leaves := p.found.leaves
	if len(leaves) == 0 {
		return errConflict()
	}
	winner := &leaves[0]
	if err := mustWin(winner); err != nil {
		return err
	}
	for i := range leaves {
		if leaves[i].Rev != p.e.Rev {
			continue
		}
		if leaves[i].Deleted {
			return errConflict() // R6
		}
		var other *rev.LeafKV
		if i == 1 {
			other = winner
		} else if len(leaves) > 1 {
			other = &leaves[1]
		}
		p.plan = extending(&leaves[i], winner, other, p.e.Deleted, limit)
		return nil
	}
	if winner.Branches <= int64(len(leaves)) {
		return errConflict()
	}
	p.found.leaf = t.Get(t.Close(t.Keys.Revision(t.Open(), p.e.ID, false, p.e.Rev)))
	return nil
}

// removeLoser continues remove after the leaf has been read.
func (p *pendingEdit) removeLoser(limit int) error {
	old, err := p.found.takeLeaf(p.e.Rev)
	if err != nil {
		return err
	}
	winner := &p.found.leaves[0]
	p.plan = extending(&old, winner, winner, p.e.Deleted, limit)
	return nil
}

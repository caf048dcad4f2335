package layer

import (
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// apply writes what the plan says. It reads only for design documents, and where a body is replaced.
func (p *pendingEdit) apply(t *txn) error {
	pl := &p.plan
	if p.stored != nil {
		if err := p.storeBody(t); err != nil {
			return err
		}
	}
	if pl.ancestor && p.stored != nil {
		t.supersede(p.e.ID, p.e.Rev) // history already: only compaction cares
	}
	if !pl.hasAdded && len(pl.replaced) == 0 && len(pl.changed) == 0 {
		return nil
	}
	user := t.entries
	t.entries++
	winner := pl.winner()
	for _, l := range pl.replaced {
		t.Clear(t.close(t.keys.revision(t.open(), p.e.ID, l.deleted, l.rev)))
		t.supersede(p.e.ID, l.rev)
	}
	if pl.hasAdded {
		p.setLeaf(t, &pl.added, winner, user)
	}
	for _, l := range pl.changed {
		p.setLeaf(t, l, winner, user)
	}
	// The other leaves are touched only where one of them becomes the winner or was it: their values do not change otherwise.
	if l := pl.other; l != nil && (l == winner || l.winner) && !slices.Contains(pl.changed, l) {
		p.setLeaf(t, l, winner, user)
	}
	t.moveEntry(p.e.ID, pl.before, winner, pl.branches, user)
	return p.listDocument(t, winner)
}

// storeBody writes the edit's body and takes up its attachments.
func (p *pendingEdit) storeBody(t *txn) error {
	var replaced []attachmentOf
	if p.oldChunk != nil {
		var err error
		if replaced, err = t.dropBody(p.e.ID, p.bodyRev(), p.oldChunk); err != nil {
			return err
		}
	}
	t.writeBody(p.e.ID, p.bodyRev(), p.stored)
	t.countFor(p.e.ID, counterBodies, int64(len(p.stored)))
	p.takeUploads(t)
	return t.dropAttachments(replaced)
}

// bodyRev is the revision whose body the edit brings.
func (p *pendingEdit) bodyRev() Rev {
	if p.plan.hasAdded {
		return p.plan.added.rev
	}
	return p.e.Rev
}

// setLeaf writes a branch's KV, as the winner with the commit's sequence (R1).
func (p *pendingEdit) setLeaf(t *txn, l, winner *leafKV, user uint16) {
	key := t.close(t.keys.revision(t.open(), p.e.ID, l.deleted, l.rev))
	if l != winner {
		t.Set(key, t.close(appendLeafValue(t.open(), l.ancestors)))
		return
	}
	value, offset := appendWinnerValue(t.open(), t.cfg.incarnation, user, p.plan.branches, l.ancestors)
	t.SetVersionstampedValue(key, t.close(value), offset)
}

// supersede queues a body that is no leaf's any more for compaction.
func (t *txn) supersede(id string, r Rev) {
	key := t.keys.sub(t.open(), keyspace.Superseded)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.superseded)))
	t.SetVersionstampedKey(key, offset, t.close(appendRev(tuple.AppendString(t.open(), id), r)))
	t.superseded++
	t.count(counterSuperseded, 1)
}

// moveEntry writes the document's changes entry and clears the one before: no read, at most one clear, one set (C1).
func (t *txn) moveEntry(id string, before, winner *leafKV, branches int64, user uint16) {
	if before != nil {
		t.Clear(t.close(t.keys.entry(t.open(), t.cfg.shardAt(id, before.seq), before.seq)))
	}
	shard := t.cfg.shard(id)
	key := tuple.AppendInt(t.keys.feed(t.open(), shard), t.cfg.incarnation)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(user)))
	t.SetVersionstampedKey(key, offset, t.close(appendEntryValue(t.open(), id, winner.rev, branches, winner.deleted)))
	t.touch(shard, user)
}

// appendEntryValue encodes (SeqFormat, DocID, RevPosition, RevHash, BranchCount, NotDeleted) (C1).
func appendEntryValue(dst []byte, id string, r Rev, branches int64, deleted bool) []byte {
	dst = tuple.AppendInt(dst, keyspace.SeqFormat)
	dst = tuple.AppendString(dst, id)
	dst = appendRev(dst, r)
	dst = tuple.AppendInt(dst, branches)
	return tuple.AppendBool(dst, !deleted)
}

// listDocument keeps AllDocs, Designs and the document counters.
func (p *pendingEdit) listDocument(t *txn, winner *leafKV) error {
	before := p.plan.before
	wasLive := before != nil && !before.deleted
	switch {
	case !winner.deleted && (!wasLive || before.rev != winner.rev):
		t.Set(t.close(t.keys.doc(t.open(), keyspace.AllDocs, p.e.ID)), t.close(appendRev(t.open(), winner.rev)))
	case winner.deleted && wasLive:
		t.Clear(t.close(t.keys.doc(t.open(), keyspace.AllDocs, p.e.ID)))
	}
	if before != nil {
		t.countDocument(p.e.ID, before.deleted, -1)
	}
	t.countDocument(p.e.ID, winner.deleted, 1)
	if !isDesign(p.e.ID) {
		return nil
	}
	return p.listDesign(t, winner)
}

func (t *txn) countDocument(id string, deleted bool, n int64) {
	if deleted {
		t.countFor(id, counterDeleted, n)
	} else {
		t.countFor(id, counterDocs, n)
	}
}

// listDesign keeps the entry of a design document, and moves the stamp where writes have to look at the document now or had to before.
func (p *pendingEdit) listDesign(t *txn, winner *leafKV) error {
	key := t.close(t.keys.doc(t.open(), keyspace.Designs, p.e.ID))
	old, err := p.design.Wait()
	if err != nil {
		return err
	}
	watched := false
	if old != nil {
		if _, watched, err = parseDesignValue(old); err != nil {
			return err
		}
	}
	if winner.deleted {
		t.Clear(key)
		t.restamp = t.restamp || watched
		return nil
	}
	now, err := p.watches(t, winner)
	if err != nil {
		return err
	}
	t.Set(key, appendDesignValue(nil, winner.rev, now))
	t.restamp = t.restamp || watched || now
	return nil
}

// watches asks the Validator about the winner, whose body is the edit's or has to be read.
func (p *pendingEdit) watches(t *txn, winner *leafKV) (bool, error) {
	v := t.db.store.o.Validator
	if v == nil {
		return false, nil
	}
	body := p.body
	if winner != &p.plan.added {
		r := readBody(t, t.keys, p.e.ID, winner.rev)
		s, found, err := r.wait()
		if err != nil || !found {
			return false, err
		}
		body = s.body
	}
	return v.Watches((&Document{ID: p.e.ID, Rev: winner.rev, Body: body}).AppendJSON(nil)), nil
}

package layer

import (
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// apply writes what the plan says. It reads only for design documents, where a body is replaced, and where there may be
// bodies that no branch knows (dropForgotten).
func (p *pendingEdit) apply(t *txn) error {
	pl := &p.plan
	if p.stored != nil || pl.known != nil {
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
	p.entry = user
	winner := pl.winner()
	if err := t.keepEntry(p.e.ID, pl.before); err != nil {
		return err
	}
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

// storeBody writes the edit's body, if it brings one, takes up its attachments, and removes bodies that no branch
// knows.
func (p *pendingEdit) storeBody(t *txn) error {
	var replaced, forgotten []attachmentOf
	var err error
	if p.stored != nil {
		replaced, err = p.putBody(t)
	}
	if err == nil && p.plan.known != nil {
		forgotten, err = t.dropForgotten(p.e.ID, p.plan.known, p.plan.others)
	}
	if err != nil {
		return err
	}
	return t.dropAttachments(append(replaced, forgotten...))
}

// putBody is storeBody but for the attachments of a body that it replaces.
func (p *pendingEdit) putBody(t *txn) (replaced []attachmentOf, err error) {
	if p.oldChunk != nil {
		if replaced, err = t.dropBody(p.e.ID, p.bodyRev(), p.oldChunk); err != nil {
			return nil, err
		}
	}
	t.writeBody(p.e.ID, p.bodyRev(), p.stored, p.attachments)
	t.countFor(p.e.ID, counterBodies, int64(len(p.stored)))
	p.takeUploads(t)
	return replaced, nil
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
	shard := t.cfg.shard(id)
	key := t.keys.superseded(t.open(), shard)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.superseded)))
	t.SetVersionstampedKey(key, offset, t.close(appendRev(tuple.AppendString(t.open(), id), r)))
	t.superseded++
	t.countIn(shard, counterSuperseded, 1)
}

// moveEntry writes the document's changes entry and clears the one before: no read, at most one clear, one set (C1).
// While there is a cut, keepEntry goes before it.
func (t *txn) moveEntry(id string, before, winner *leafKV, branches int64, user uint16) {
	if before != nil {
		t.clearEntry(id, before.seq)
	}
	shard := t.cfg.shard(id)
	key := tuple.AppendInt(t.keys.feed(t.open(), shard), t.cfg.incarnation)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(user)))
	t.SetVersionstampedKey(key, offset, t.close(appendEntryValue(t.open(), id, winner.rev, branches, winner.deleted)))
	t.touch(shard, user)
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
	value, err := p.design.Wait()
	if err != nil {
		return err
	}
	var old, now designEntry
	if value != nil {
		if old, err = parseDesignEntry(value); err != nil {
			return err
		}
	}
	if winner.deleted {
		t.Clear(key)
	} else {
		body, err := p.winnerBody(t, winner)
		if err != nil {
			return err
		}
		if now, err = writeOf(t.db.store).designEntry(t,
			&Document{ID: p.e.ID, Rev: winner.rev, Body: body}); err != nil {
			return err
		}
		t.Set(key, now.appendValue(nil))
	}
	t.restamp = t.restamp || old.concernsWrites() || now.concernsWrites()
	t.redesigned = t.redesigned || old.interactive != now.interactive
	s := t.db.store
	if value == nil || writeOf(s).cleanupAfter == 0 {
		return nil
	}
	return s.enqueue(t, CleanupJobs, t.db.name, nil, writeOf(s).cleanupAfter)
}

// winnerBody is the edit's or has to be read.
func (p *pendingEdit) winnerBody(t *txn, winner *leafKV) ([]byte, error) {
	if winner == &p.plan.added {
		return p.body, nil
	}
	r := readBody(t, t.keys, p.e.ID, winner.rev)
	s, found, err := r.wait()
	if err == nil && !found {
		err = corrupt("body of "+p.e.ID, errNoBody)
	}
	return s.body, err
}

// designEntry is what is listed of a design document. One that cannot be used is listed as none that concerns writes.
func (w *writeState) designEntry(t *txn, doc *Document) (designEntry, error) {
	e := designEntry{id: doc.ID, rev: doc.Rev}
	if v := w.validator; v != nil {
		e.watched = v.Watches(doc.AppendJSON(nil))
	}
	parsed, err := t.cfg.parseDesign(doc.ID, doc.Rev, doc.Body)
	designs := designOf(t.db.store)
	if err != nil || !parsed.interactive() || designs.scripts == nil {
		return e, nil //nolint:nilerr // it has no views then
	}
	_, err = designs.compile(script.Charge(t.ctx, t.db.name, script.Interactive), parsed)
	if KindOf(err) == Invalid {
		return e, nil
	}
	e.interactive = parsed.Signature
	return e, err
}

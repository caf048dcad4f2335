package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// apply writes what the plan says. It reads only for design documents, where a body is replaced, and where there may be
// bodies that no branch knows (dropForgotten).
func (p *pendingEdit) apply(t *db.Txn) error {
	pl := &p.plan
	if p.stored != nil || pl.known != nil {
		if err := p.storeBody(t); err != nil {
			return err
		}
	}
	if pl.ancestor && p.stored != nil {
		supersede(t, p.e.ID, p.e.Rev) // history already: only compaction cares
	}
	if !pl.hasAdded && len(pl.replaced) == 0 && len(pl.changed) == 0 {
		return nil
	}
	user := t.Entries
	t.Entries++
	p.entry = user
	winner := pl.winner()
	if err := feed.KeepEntry(t, p.e.ID, pl.before); err != nil {
		return err
	}
	for _, l := range pl.replaced {
		t.Clear(t.Close(t.Keys.Revision(t.Open(), p.e.ID, l.Deleted, l.Rev)))
		supersede(t, p.e.ID, l.Rev)
	}
	if pl.hasAdded {
		p.setLeaf(t, &pl.added, winner, user)
	}
	for _, l := range pl.changed {
		p.setLeaf(t, l, winner, user)
	}
	// The other leaves are touched only where one of them becomes the winner or was it: their values do not change
	// otherwise.
	if l := pl.other; l != nil && (l == winner || l.Winner) && !slices.Contains(pl.changed, l) {
		p.setLeaf(t, l, winner, user)
	}
	moveEntry(t, p.e.ID, pl.before, winner, pl.branches, user)
	return p.listDocument(t, winner)
}

// storeBody writes the edit's body, if it brings one, takes up its attachments, and removes bodies that no branch
// knows.
func (p *pendingEdit) storeBody(t *db.Txn) error {
	var replaced, forgotten []attach.AttachmentOf
	var err error
	if p.stored != nil {
		replaced, err = p.putBody(t)
	}
	if err == nil && p.plan.known != nil {
		forgotten, err = dropForgotten(t, p.e.ID, p.plan.known, p.plan.others)
	}
	if err != nil {
		return err
	}
	return attach.DropAttachments(t, append(replaced, forgotten...))
}

// putBody is storeBody but for the attachments of a body that it replaces.
func (p *pendingEdit) putBody(t *db.Txn) (replaced []attach.AttachmentOf, err error) {
	if p.oldChunk != nil {
		if replaced, err = attach.DropBody(t, p.e.ID, p.bodyRev(), p.oldChunk); err != nil {
			return nil, err
		}
	}
	rev.WriteBody(t, p.e.ID, p.bodyRev(), p.stored, p.attachments)
	t.CountFor(p.e.ID, db.CounterBodies, int64(len(p.stored)))
	p.takeUploads(t)
	return replaced, nil
}

// bodyRev is the revision whose body the edit brings.
func (p *pendingEdit) bodyRev() db.Rev {
	if p.plan.hasAdded {
		return p.plan.added.Rev
	}
	return p.e.Rev
}

// setLeaf writes a branch's KV, as the winner with the commit's sequence (R1).
func (p *pendingEdit) setLeaf(t *db.Txn, l, winner *rev.LeafKV, user uint16) {
	key := t.Close(t.Keys.Revision(t.Open(), p.e.ID, l.Deleted, l.Rev))
	if l != winner {
		t.Set(key, t.Close(rev.AppendLeafValue(t.Open(), l.Ancestors)))
		return
	}
	value, offset := rev.AppendWinnerValue(t.Open(), t.Cfg.Incarnation, user, p.plan.branches, l.Ancestors)
	t.SetVersionstampedValue(key, t.Close(value), offset)
}

// supersede queues a body that is no leaf's any more for compaction.
func supersede(t *db.Txn, id string, r db.Rev) {
	shard := t.Cfg.Shard(id)
	key := t.Keys.Superseded(t.Open(), shard)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.Superseded)))
	t.SetVersionstampedKey(key, offset, t.Close(db.AppendRev(tuple.AppendString(t.Open(), id), r)))
	t.Superseded++
	t.CountIn(shard, db.CounterSuperseded, 1)
}

// moveEntry writes the document's changes entry and clears the one before: no read, at most one clear, one set (C1).
// While there is a cut, KeepEntry goes before it.
func moveEntry(t *db.Txn, id string, before, winner *rev.LeafKV, branches int64, user uint16) {
	if before != nil {
		feed.ClearEntry(t, id, before.Seq)
	}
	shard := t.Cfg.Shard(id)
	key := tuple.AppendInt(t.Keys.Feed(t.Open(), shard), t.Cfg.Incarnation)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(user)))
	t.SetVersionstampedKey(key, offset, t.Close(feed.AppendEntryValue(t.Open(), id, winner.Rev, branches, winner.Deleted)))
	t.Touch(shard, user)
}

// listDocument keeps AllDocs, Designs and the document counters.
func (p *pendingEdit) listDocument(t *db.Txn, winner *rev.LeafKV) error {
	before := p.plan.before
	wasLive := before != nil && !before.Deleted
	switch {
	case !winner.Deleted && (!wasLive || before.Rev != winner.Rev):
		t.Set(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, p.e.ID)), t.Close(db.AppendRev(t.Open(), winner.Rev)))
	case winner.Deleted && wasLive:
		t.Clear(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, p.e.ID)))
	}
	if before != nil {
		CountDocument(t, p.e.ID, before.Deleted, -1)
	}
	CountDocument(t, p.e.ID, winner.Deleted, 1)
	if !db.IsDesign(p.e.ID) {
		return nil
	}
	return p.listDesign(t, winner)
}

func CountDocument(t *db.Txn, id string, deleted bool, n int64) {
	if deleted {
		t.CountFor(id, db.CounterDeleted, n)
	} else {
		t.CountFor(id, db.CounterDocs, n)
	}
}

// listDesign keeps the entry of a design document, and moves the stamp where writes have to look at the document now or
// had to before.
func (p *pendingEdit) listDesign(t *db.Txn, winner *rev.LeafKV) error {
	key := t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, p.e.ID))
	value, err := p.design.Wait()
	if err != nil {
		return err
	}
	var old, now db.DesignEntry
	if value != nil {
		if old, err = db.ParseDesignEntry(value); err != nil {
			return err
		}
	}
	if winner.Deleted {
		t.Clear(key)
	} else {
		body, err := p.winnerBody(t, winner)
		if err != nil {
			return err
		}
		if now, err = StateOf(t.Db.Store).DesignEntry(t,
			&rev.Document{ID: p.e.ID, Rev: winner.Rev, Body: body}); err != nil {
			return err
		}
		t.Set(key, AppendValue(&now, nil))
	}
	t.Restamp = t.Restamp || old.ConcernsWrites() || now.ConcernsWrites()
	t.Redesigned = t.Redesigned || old.Interactive != now.Interactive
	s := t.Db.Store
	if value == nil || StateOf(s).CleanupAfter == 0 {
		return nil
	}
	return jobs.Enqueue(s, t, jobs.CleanupJobs, t.Db.Name(), nil, StateOf(s).CleanupAfter)
}

// winnerBody is the edit's or has to be read.
func (p *pendingEdit) winnerBody(t *db.Txn, winner *rev.LeafKV) ([]byte, error) {
	if winner == &p.plan.added {
		return p.body, nil
	}
	r := rev.ReadBody(t, t.Keys, p.e.ID, winner.Rev)
	s, found, err := r.Wait()
	if err == nil && !found {
		err = db.Corrupt("body of "+p.e.ID, ErrNoBody)
	}
	return s.Body, err
}

// DesignEntry is what is listed of a design document. One that cannot be used is listed as none that concerns writes.
func (w *State) DesignEntry(t *db.Txn, doc *rev.Document) (db.DesignEntry, error) {
	e := db.DesignEntry{Id: doc.ID, Rev: doc.Rev}
	if v := w.Validator; v != nil {
		e.Watched = v.Watches(doc.AppendJSON(nil))
	}
	parsed, err := design.ParseIn(t.Cfg, doc.ID, doc.Rev, doc.Body)
	designs := design.StateOf(t.Db.Store)
	if err != nil || !parsed.Interactive() || designs.Scripts == nil {
		return e, nil //nolint:nilerr // it has no views then
	}
	_, err = designs.Compile(script.Charge(t.Ctx, t.Db.Name(), script.Interactive), parsed)
	if fault.KindOf(err) == fault.Invalid {
		return e, nil
	}
	e.Interactive = parsed.Signature
	return e, err
}

package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// move gives a document the transaction's sequence, because its branches change, or removes it from the feed and the
// lists.
type move struct {
	t        *db.Txn
	id       string
	before   *rev.LeafKV       // the old winner; nil for a new document
	winner   *rev.LeafKV       // the new winner
	branches int64             // the new number of leaves
	entry    uint16            // user version of the changes entry
	design   kv.Future[[]byte] // the entry in Designs of a design document
	body     []byte            // the winner's body; if nil, it is read when needed
}

// setLeaf writes a branch's key and value; the winner's value contains the commit's sequence (R1).
func (m *move) setLeaf(l *rev.LeafKV) {
	t := m.t
	key := t.Close(t.Keys.Revision(t.Open(), m.id, l.Deleted, l.Rev))
	if l != m.winner {
		t.Set(key, t.Close(rev.AppendLeafValue(t.Open(), l)))
		return
	}
	value, offset := rev.AppendWinnerValue(t.Open(), t.Cfg.Incarnation, m.entry, m.branches, l)
	t.SetVersionstampedValue(key, t.Close(value), offset)
}

// write writes everything but the branches: the changes entry, with at most one clear and one set and no read (C1),
// AllDocs, Designs and the document counters. If there is a cut, feed.KeepEntry must be called before.
func (m *move) write() error {
	t := m.t
	if m.before != nil {
		feed.ClearEntry(t, m.id, m.before.Seq)
	}
	shard := t.Cfg.Shard(m.id)
	key := tuple.AppendInt(t.Keys.Feed(t.Open(), shard), t.Cfg.Incarnation)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(m.entry)))
	value := feed.AppendEntryValue(t.Open(), m.id, m.winner.Rev, m.branches, m.winner.Deleted)
	t.SetVersionstampedKey(key, offset, t.Close(value))
	t.Touch(shard, m.entry)
	wasLive := m.before != nil && !m.before.Deleted
	switch {
	case !m.winner.Deleted && (!wasLive || m.before.Rev != m.winner.Rev):
		t.Set(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, m.id)), t.Close(db.AppendRev(t.Open(), m.winner.Rev)))
	case m.winner.Deleted && wasLive:
		t.Clear(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, m.id)))
	}
	if m.before != nil {
		CountDocument(t, m.id, m.before.Deleted, -1)
	}
	CountDocument(t, m.id, m.winner.Deleted, 1)
	if !db.IsDesign(m.id) {
		return m.replicate()
	}
	return m.listDesign()
}

// remove removes a document without branches from the feed and the lists.
func (m *move) remove() error {
	t := m.t
	feed.ClearEntry(t, m.id, m.before.Seq)
	t.Clear(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, m.id)))
	CountDocument(t, m.id, m.before.Deleted, -1)
	m.winner = &rev.LeafKV{Deleted: true}
	if !db.IsDesign(m.id) {
		return m.replicate()
	}
	return m.listDesign()
}

// listDesign updates the entry of a design document in Designs. It changes the stamp if writes have to consult the
// document now or had to before.
func (m *move) listDesign() error {
	t := m.t
	key := t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, m.id))
	value, err := m.design.Wait()
	if err != nil {
		return err
	}
	var old, now db.DesignEntry
	if value != nil {
		if old, err = db.ParseDesignEntry(value); err != nil {
			return err
		}
	}
	if m.winner.Deleted {
		t.Clear(key)
	} else {
		body, err := m.winnerBody()
		if err != nil {
			return err
		}
		if now, err = StateOf(t.Db.Store).DesignEntry(t,
			&rev.Document{ID: m.id, Rev: m.winner.Rev, Body: body}); err != nil {
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

// winnerBody returns the edit's body or reads the winner's.
func (m *move) winnerBody() ([]byte, error) {
	if m.body != nil {
		return m.body, nil
	}
	r := rev.ReadBody(m.t, m.t.Keys, m.id, m.winner.Rev)
	s, found, err := r.Wait()
	if err == nil && !found {
		err = db.Corrupt("body of "+m.id, ErrNoBody)
	}
	return s.Body, err
}

// CountDocument adds n to the counter of live or deleted documents.
func CountDocument(t *db.Txn, id string, deleted bool, n int64) {
	if deleted {
		t.CountFor(id, db.CounterDeleted, n)
	} else {
		t.CountLive(id, n)
	}
}

// DesignEntry returns a design document's entry in Designs. A design document that cannot be used gets an entry that
// does not concern writes.
func (w *State) DesignEntry(t *db.Txn, doc *rev.Document) (db.DesignEntry, error) {
	e := db.DesignEntry{Id: doc.ID, Rev: doc.Rev}
	if v := w.Validator; v != nil {
		e.Watched = v.Watches(doc.AppendJSON(nil))
	}
	parsed, err := design.ParseIn(t.Cfg, doc.ID, doc.Rev, doc.Body)
	designs := design.StateOf(t.Db.Store)
	if err != nil || !parsed.Interactive() || designs.Scripts == nil && !parsed.IsMango() {
		return e, nil //nolint:nilerr // it has no usable views
	}
	_, err = designs.Compile(script.Charge(t.Ctx, t.Db.Name(), script.Interactive), parsed)
	if fault.KindOf(err) == fault.Invalid {
		return e, nil
	}
	e.Interactive = parsed.Signature
	return e, err
}

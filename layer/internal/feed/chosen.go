package feed

import (
	"maps"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// A document's winner stores the sequence of its feed entry. A pass over a few documents reads their winners and sorts
// them by sequence instead of reading the feed.

// runChosen is a pass over ChangesOptions.IDs or Only.
func (f *Feed) runChosen() error {
	entries, last, err := f.chosen()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Seq.Compare(f.Since) <= 0 || !f.until.IsZero() && e.Seq.Compare(f.until) > 0 ||
			f.O.Shard != "" && e.Shard != f.O.Shard
	})
	slices.SortFunc(entries, func(a, b Entry) int {
		if f.O.Descending {
			a, b = b, a
		}
		return a.Seq.Compare(b.Seq)
	})
	f.total = int64(len(entries))
	more, err := f.queue.Run(false, func() error {
		for i := range entries {
			more, err := f.take(&entries[i])
			if f.cut = !more; f.cut || err != nil {
				return err
			}
		}
		return nil
	})
	if f.cut = f.cut || !more; f.cut || err != nil {
		return err
	}
	return f.atEnd(last, nil)
}

// chosen returns the entries of the requested documents and the newest sequence, as of one version.
func (f *Feed) chosen() (entries []Entry, last db.Seq, err error) {
	if f.O.IDs != nil {
		return f.entriesOfIDs()
	}
	// In one transaction: otherwise an entry that moves during the reads would be missed, or returned without its place
	// in the order.
	err = f.S.Try(func() error {
		newest := db.ReadLastSeq(f.S.R, f.S.Keys, f.S.Cfg)
		if entries, err = f.entriesOfDesigns(); err == nil {
			last, err = newest()
		}
		return err
	})
	return entries, last, err
}

// idsTogether is how many documents are looked up at once.
const idsTogether = 256

// entriesOfIDs reads the winner of each document once. A document that never existed has no entry. If it takes several
// transactions, changes since the first one are read from the feed.
func (f *Feed) entriesOfIDs() (entries []Entry, last db.Seq, err error) {
	ids := slices.DeleteFunc(slices.Clone(f.O.IDs), func(id string) bool { return len(id) > db.MaxIDLength })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	err = f.S.Try(func() error {
		last, err = f.S.LastSeq()
		return err
	})
	if err != nil {
		return nil, last, err
	}
	entries = make([]Entry, 0, len(ids))
	turn, p, patience := f.S.Turn, db.NewPortions(idsTogether), kv.Patience{}
	for rest := ids; len(rest) > 0; {
		part := rest[:min(p.Now, len(rest))]
		n := len(entries)
		if entries, err = f.lookUp(part, entries); err == nil {
			p.Adapt(len(part), len(part), 0)
			rest = rest[len(part):]
			patience.Progress()
			if !f.S.Old() {
				continue
			}
		} else if entries = entries[:n]; !p.Halve(len(part), 0) {
			err = patience.Tried(err)
		}
		if err = f.S.Renew(err); err != nil {
			return nil, last, err
		}
	}
	if turn == f.S.Turn {
		return entries, last, nil
	}
	return f.chase(ids, entries, last)
}

// lookUp appends the entries of the documents.
func (f *Feed) lookUp(ids []string, entries []Entry) ([]Entry, error) {
	rows := make([]kv.RangeIterator, len(ids))
	for i, id := range ids {
		rows[i] = db.GetRange(f.S.R, f.S.Keys.Doc(nil, keyspace.Revisions, id),
			kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
		defer rows[i].Close()
	}
	for i, id := range ids {
		leaves, err := rev.ReadLeaves(rows[i], len(f.S.Keys.Doc(nil, keyspace.Revisions, id)), false, nil)
		if err != nil {
			return entries, err
		}
		if len(leaves) > 0 {
			entries = append(entries, EntryOf(f.S.Cfg, id, &leaves[0]))
		}
	}
	return entries, nil
}

// chase reads the feed after since, and replaces the entries of the documents by newer ones. The result is as of the
// transaction that reached the end of the feed.
func (f *Feed) chase(ids []string, entries []Entry, since db.Seq) ([]Entry, db.Seq, error) {
	moved := map[string]Entry{}
	var patience kv.Patience
	for {
		from := since
		last, err := f.follow(&since, func(e *Entry) {
			if _, ok := slices.BinarySearch(ids, e.Id); ok {
				moved[e.Id] = *e
			}
		})
		if err == nil {
			entries = slices.DeleteFunc(entries, func(e Entry) bool { _, ok := moved[e.Id]; return ok })
			return slices.AppendSeq(entries, maps.Values(moved)), last, nil
		}
		if since != from {
			patience.Progress()
		}
		if err := f.S.Renew(patience.Tried(err)); err != nil {
			return nil, last, err
		}
	}
}

// follow reads the feed after *since to its end in one transaction, advancing *since.
func (f *Feed) follow(since *db.Seq, visit func(e *Entry)) (last db.Seq, err error) {
	for _, shards := range f.S.Cfg.MapsFrom(*since) {
		m := openMerge(f.S.R, f.S.Keys, shards.Subspaces(), *since, db.Seq{}, false)
		defer m.close()
		if err := m.start(); err != nil {
			return last, err
		}
		for c := m.least(); c != nil; c = m.least() {
			visit(&c.next)
			*since = c.next.Seq
			if err := c.advance(); err != nil {
				return last, err
			}
		}
	}
	return f.S.LastSeq()
}

// entriesOfDesigns reads the winners of all design documents, including deleted ones.
func (f *Feed) entriesOfDesigns() ([]Entry, error) {
	prefix := f.S.Keys.Sub(nil, keyspace.Revisions)
	first, end := "_design/", "_design0"
	rows := f.S.R.GetRange(db.IdRange(prefix, db.IdBounds{Start: &first, End: &end, ExcludeEnd: true}),
		kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var entries []Entry
	err := rev.EachWinner(rows, len(prefix), func(id string, w *rev.LeafKV) bool {
		entries = append(entries, EntryOf(f.S.Cfg, id, w))
		return true
	})
	return entries, err
}

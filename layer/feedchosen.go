package layer

import (
	"maps"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// A document's winner knows the sequence of its entry in the feed. A pass over a few documents reads their winners, and puts them in order.

// runChosen is a pass over ChangesOptions.IDs or Only.
func (f *feed) runChosen() error {
	entries, last, err := f.chosen()
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool {
		return e.seq.Compare(f.since) <= 0 || !f.until.IsZero() && e.seq.Compare(f.until) > 0 || f.o.Shard != "" && e.shard != f.o.Shard
	})
	slices.SortFunc(entries, func(a, b entry) int {
		if f.o.Descending {
			a, b = b, a
		}
		return a.seq.Compare(b.seq)
	})
	f.total = int64(len(entries))
	more, err := f.queue.run(false, func() error {
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

// chosen are the entries of the documents asked for, and the newest sequence, as of one version.
func (f *feed) chosen() (entries []entry, last Seq, err error) {
	if f.o.IDs != nil {
		return f.entriesOfIDs()
	}
	// in one transaction: an entry that moves while others are read would be missed, or seen without its place
	err = f.s.try(func() error {
		newest := readLastSeq(f.s.r, f.s.keys, f.s.cfg)
		if entries, err = f.entriesOfDesigns(); err == nil {
			last, err = newest()
		}
		return err
	})
	return entries, last, err
}

// idsTogether is how many documents are looked up at once.
const idsTogether = 256

// entriesOfIDs reads the winner of each document once. A document that never existed has none. If that takes several
// transactions, what changed since the first one is taken from the feed.
func (f *feed) entriesOfIDs() (entries []entry, last Seq, err error) {
	ids := slices.DeleteFunc(slices.Clone(f.o.IDs), func(id string) bool { return len(id) > maxIDLength })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	err = f.s.try(func() error {
		last, err = readLastSeq(f.s.r, f.s.keys, f.s.cfg)()
		return err
	})
	if err != nil {
		return nil, last, err
	}
	entries = make([]entry, 0, len(ids))
	turn, p, patience := f.s.turn, newPortions(idsTogether), kv.Patience{}
	for rest := ids; len(rest) > 0; {
		part := rest[:min(p.now, len(rest))]
		n := len(entries)
		if entries, err = f.lookUp(part, entries); err == nil {
			p.took(len(part), len(part), 0)
			rest = rest[len(part):]
			patience.Progress()
			if !f.s.old() {
				continue
			}
		} else if entries = entries[:n]; !p.lessen(len(part), 0) {
			err = patience.Tried(err)
		}
		if err = f.s.renew(err); err != nil {
			return nil, last, err
		}
	}
	if turn == f.s.turn {
		return entries, last, nil
	}
	return f.chase(ids, entries, last)
}

// lookUp appends the entries of some documents.
func (f *feed) lookUp(ids []string, entries []entry) ([]entry, error) {
	rows := make([]kv.RangeIterator, len(ids))
	for i, id := range ids {
		rows[i] = getRange(f.s.r, f.s.keys.doc(nil, keyspace.Revisions, id),
			kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
		defer rows[i].Close()
	}
	for i, id := range ids {
		leaves, err := readLeaves(rows[i], len(f.s.keys.doc(nil, keyspace.Revisions, id)), false, nil)
		if err != nil {
			return entries, err
		}
		if len(leaves) > 0 {
			entries = append(entries, f.s.cfg.entryOf(id, &leaves[0]))
		}
	}
	return entries, nil
}

// chase reads the feed from a sequence on, and replaces the entries of the documents with these ids by newer ones. Its
// result is as of the transaction that reached the end of the feed.
func (f *feed) chase(ids []string, entries []entry, since Seq) ([]entry, Seq, error) {
	moved := map[string]entry{}
	var patience kv.Patience
	for {
		from := since
		last, err := f.follow(&since, func(e *entry) {
			if _, ok := slices.BinarySearch(ids, e.id); ok {
				moved[e.id] = *e
			}
		})
		if err == nil {
			entries = slices.DeleteFunc(entries, func(e entry) bool { _, ok := moved[e.id]; return ok })
			return slices.AppendSeq(entries, maps.Values(moved)), last, nil
		}
		if since != from {
			patience.Progress()
		}
		if err := f.s.renew(patience.Tried(err)); err != nil {
			return nil, last, err
		}
	}
}

// follow reads the feed from a sequence to its end in one transaction, and moves the sequence with it.
func (f *feed) follow(since *Seq, visit func(e *entry)) (last Seq, err error) {
	for _, shards := range f.s.cfg.mapsFrom(*since) {
		m := openMerge(f.s.r, f.s.keys, shards.subspaces(), *since, Seq{}, false)
		defer m.close()
		if err := m.start(); err != nil {
			return last, err
		}
		for c := m.least(); c != nil; c = m.least() {
			visit(&c.next)
			*since = c.next.seq
			if err := c.advance(); err != nil {
				return last, err
			}
		}
	}
	return readLastSeq(f.s.r, f.s.keys, f.s.cfg)()
}

// entriesOfDesigns reads the winners of all design documents, deleted ones too.
func (f *feed) entriesOfDesigns() ([]entry, error) {
	prefix := f.s.keys.sub(nil, keyspace.Revisions)
	first, end := "_design/", "_design0"
	rows := f.s.r.GetRange(idRange(prefix, idBounds{start: &first, end: &end, excludeEnd: true}), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var entries []entry
	err := eachWinner(rows, len(prefix), func(id string, w *leafKV) bool {
		entries = append(entries, f.s.cfg.entryOf(id, w))
		return true
	})
	return entries, err
}

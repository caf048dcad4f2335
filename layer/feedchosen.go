package layer

import (
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// A document's winner knows the sequence of its entry in the feed. A pass over a few documents reads their winners, and puts them in order.

// runChosen is a pass over ChangesOptions.IDs or Only.
func (f *feed) runChosen() error {
	var entries []entry
	var last Seq
	err := f.s.try(func() error { // in one transaction: an entry that moves while others are read would be missed, or seen without its place
		newest := readLastSeq(f.s.r, f.s.keys, f.s.cfg)
		var err error
		if f.o.IDs != nil {
			entries, err = f.entriesOfIDs()
		} else {
			entries, err = f.entriesOfDesigns()
		}
		if err == nil {
			last, err = newest()
		}
		return err
	})
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
	for i := range entries {
		more, err := f.take(&entries[i])
		if err != nil {
			return err
		}
		if f.cut = !more; f.cut {
			break
		}
	}
	more, err := f.queue.drain()
	if f.cut = f.cut || !more; f.cut || err != nil {
		return err
	}
	return f.atEnd(last, nil)
}

// entriesOfIDs reads the winners of some documents, each once. Documents that never were have none.
func (f *feed) entriesOfIDs() ([]entry, error) {
	ids := slices.DeleteFunc(slices.Clone(f.o.IDs), func(id string) bool { return len(id) > maxIDLength })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	const window = 256
	entries := make([]entry, 0, len(ids))
	for part := range slices.Chunk(ids, window) {
		rows := make([]kv.RangeIterator, len(part))
		for i, id := range part {
			rows[i] = getRange(f.s.r, f.s.keys.doc(nil, keyspace.Revisions, id), kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
			defer rows[i].Close()
		}
		for i, id := range part {
			leaves, err := readLeaves(rows[i], len(f.s.keys.doc(nil, keyspace.Revisions, id)), false, nil)
			if err != nil {
				return nil, err
			}
			if len(leaves) > 0 {
				entries = append(entries, f.s.cfg.entryOf(id, &leaves[0]))
			}
		}
	}
	return entries, nil
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

package layer

import (
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Entries of the feed that have moved since a cut (cuts.go) are kept under (Moved, ShardID, Incarnation, Versionstamp)
// = (Incarnation and Versionstamp of the move, then the entry's value). Map functions see a document's conflicts, and
// those change too: where there are any they follow, in parts that fit a value each, under the same key with the part's
// number = [(NotDeleted, RevPosition, RevHash), ...], best first.

// movedConflicts is how many conflicts a part has at most.
const movedConflicts = 400

// movedBatch is how many conflicts are read with a batch of entries, unless its first entry has more.
const movedBatch = 50_000

// movedEntry is what is kept beside an entry that is not in the feed any more.
type movedEntry struct{ conflicts []leafKV }

func (m *movedEntry) revs(deleted bool) (revs []Rev) {
	for i := range m.conflicts {
		if m.conflicts[i].deleted == deleted {
			revs = append(revs, m.conflicts[i].rev)
		}
	}
	return revs
}

// moved is (Moved, ShardID, Incarnation, Versionstamp).
func (s space) moved(dst []byte, shard ShardID, seq Seq) []byte {
	return seq.appendTuple(tuple.AppendString(s.sub(dst, keyspace.Moved), string(shard)))
}

// keepEntry copies the entry of a document's winner where it is from before a cut, and is about to be cleared. It comes
// before the transaction's own writes to the document.
func (t *txn) keepEntry(id string, was *leafKV) error {
	if was == nil || len(t.cfg.cuts) == 0 {
		return nil
	}
	if _, newest := t.cfg.cutRange(); was.seq.Compare(newest) > 0 {
		return nil
	}
	key := t.keys.moved(nil, t.cfg.shardAt(id, was.seq), was.seq)
	value := tuple.AppendInt(nil, t.cfg.incarnation)
	offset := len(value) + 1
	value = tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(0))
	value = appendEntryValue(value, id, was.rev, was.branches, was.deleted)
	t.SetVersionstampedValue(key, value, offset)
	if was.branches == 1 {
		return nil
	}
	// Without conflict: who changes a branch changes the winner, which was read.
	prefix := len(t.keys.doc(nil, keyspace.Revisions, id))
	leaves, err := readLeaves(readTree(t.Snapshot(), t.keys, id), prefix, false, nil)
	if err != nil {
		return err
	}
	t.spent += sizeOf(leaves)
	slices.Reverse(leaves)
	part := int64(0)
	for some := range slices.Chunk(leaves[min(1, len(leaves)):], movedConflicts) {
		var value []byte
		for i := range some {
			value = appendRev(tuple.AppendBool(value, !some[i].deleted), some[i].rev)
		}
		t.Set(tuple.AppendInt(slices.Clip(key), part), value)
		part++
	}
	return nil
}

// readMoved reads the entries of a shard in (from, upTo] that have moved since a cut, n at most; more says that there
// are others behind.
func readMoved(r kv.Reader, keys space, shard ShardID, at, from, upTo Seq, n int) (
	entries []entry, more bool, err error,
) {
	prefix := len(tuple.AppendString(keys.sub(nil, keyspace.Moved), string(shard)))
	if from.Compare(upTo) >= 0 {
		return nil, false, nil
	}
	in := kv.KeyRange{
		Begin: prefixRange(keys.moved(nil, shard, from)).End, // behind its parts
		End:   prefixRange(keys.moved(nil, shard, upTo)).End,
	}
	it := r.GetRange(in, kv.RangeOptions{Mode: kv.ModeIterator})
	defer it.Close()
	conflicts := 0
	var last *movedEntry // that parts belong to; nil: one that is passed over
	for it.Next() {
		row := it.KeyValue()
		_, part, err := takeSeq(row.Key[prefix:])
		if err != nil {
			return nil, false, corrupt("changes entry", err)
		}
		if len(part) > 0 {
			if last != nil {
				if err := last.take(row.Value); err != nil {
					return nil, false, err
				}
				conflicts += movedConflicts
			}
			continue
		}
		last = nil
		since, value, err := takeSeq(row.Value)
		if err != nil {
			return nil, false, corrupt("changes entry", err)
		}
		if since.Compare(at) <= 0 {
			continue // it had moved before this cut, and is there for another
		}
		if len(entries) == n || conflicts > movedBatch {
			return entries, true, nil
		}
		last = &movedEntry{}
		e := entry{shard: shard, moved: last}
		if err := parseEntry(&e, row.Key[prefix:], value); err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, false, it.Err()
}

// take reads a part of an entry's conflicts.
func (m *movedEntry) take(part []byte) error {
	for len(part) > 0 {
		var l leafKV
		live, rest, err := tuple.TakeBool(part)
		if err == nil {
			l.deleted = !live
			l.rev, part, err = takeRev(rest)
		}
		if err != nil {
			return corrupt("conflicts of a changes entry", err)
		}
		m.conflicts = append(m.conflicts, l)
	}
	return nil
}

// readEntriesAt is readEntries of the feed as of a cut; at zero is the feed as it is.
func readEntriesAt(r kv.Reader, keys space, shard ShardID, at, from, goal Seq, n int) (
	entries []entry, more bool, err error,
) {
	entries, more, err = readEntries(r, keys, shard, from, goal, n)
	if err != nil || at.IsZero() {
		return entries, more, err
	}
	moved, others, err := readMoved(r, keys, shard, at, from, goal, n)
	if err != nil || len(moved) == 0 {
		return entries, more, err
	}
	if others { // nothing is known of what is behind the last
		last := moved[len(moved)-1].seq
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.seq.Compare(last) > 0 })
	}
	entries = append(entries, moved...)
	slices.SortFunc(entries, func(a, b entry) int { return a.seq.Compare(b.seq) })
	if len(entries) > n {
		return entries[:n], true, nil
	}
	return entries, more || others, nil
}

// readEntries reads a shard's changes in (from, goal], n at most; goal zero is the end. more says that there are others
// behind.
func readEntries(r kv.Reader, keys space, shard ShardID, from, goal Seq, n int) (entries []entry, more bool,
	err error) {
	prefix := len(keys.feed(nil, shard))
	it := r.GetRange(entryRange(keys, shard, from, goal), kv.RangeOptions{Limit: n + 1, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		if len(entries) == n {
			return entries, true, nil
		}
		e := entry{shard: shard}
		row := it.KeyValue()
		if err := parseEntry(&e, row.Key[prefix:], row.Value); err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, false, it.Err()
}

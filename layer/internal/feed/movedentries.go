package feed

import (
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A feed entry that has moved since a cut (cuts.go) is kept under (Moved, ShardID, Incarnation, Versionstamp) =
// (Incarnation and Versionstamp of the move, then the entry's value). Map functions see a document's conflicts, which
// may change as well. If there are any, they are kept in parts that each fit into a value, under the same key followed
// by the part's number = [(NotDeleted, RevPosition, RevHash), ...], best first.

// movedConflicts is the maximum number of conflicts in a part.
const movedConflicts = 400

// movedBatch is how many conflicts are read with a batch of entries, unless its first entry has more.
const movedBatch = 50_000

// movedEntry is what is kept of a moved entry besides the entry itself.
type movedEntry struct{ conflicts []rev.LeafKV }

// Revs returns the deleted or the live conflicts.
func (m *movedEntry) Revs(deleted bool) (revs []db.Rev) {
	for i := range m.conflicts {
		if m.conflicts[i].Deleted == deleted {
			revs = append(revs, m.conflicts[i].Rev)
		}
	}
	return revs
}

// moved returns (Moved, ShardID, Incarnation, Versionstamp).
func moved(s db.Space, dst []byte, shard db.ShardID, seq db.Seq) []byte {
	return seq.AppendTuple(tuple.AppendString(s.Sub(dst, keyspace.Moved), string(shard)))
}

// KeepEntry copies the entry of a document's winner if it is from before a cut. Call it before the transaction clears
// the entry and before any other write to the document.
func KeepEntry(t *db.Txn, id string, was *rev.LeafKV) error {
	if was == nil || len(t.Cfg.Cuts) == 0 {
		return nil
	}
	if _, newest := t.Cfg.CutRange(); was.Seq.Compare(newest) > 0 {
		return nil
	}
	key := moved(t.Keys, nil, t.Cfg.ShardAt(id, was.Seq), was.Seq)
	value := tuple.AppendInt(nil, t.Cfg.Incarnation)
	offset := len(value) + 1
	value = tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(0))
	value = AppendEntryValue(value, id, was.Rev, was.Branches, was.Deleted)
	t.SetVersionstampedValue(key, value, offset)
	if was.Branches == 1 {
		return nil
	}
	// Read without conflict: a transaction that changes a branch also changes the winner, which was read with conflict.
	prefix := len(t.Keys.Doc(nil, keyspace.Revisions, id))
	leaves, err := rev.ReadLeaves(rev.ReadTree(t.Snapshot(), t.Keys, id), prefix, false, nil)
	if err != nil {
		return err
	}
	t.Spent += rev.SizeOf(leaves)
	slices.Reverse(leaves)
	part := int64(0)
	for some := range slices.Chunk(leaves[min(1, len(leaves)):], movedConflicts) {
		var value []byte
		for i := range some {
			value = db.AppendRev(tuple.AppendBool(value, !some[i].Deleted), some[i].Rev)
		}
		t.Set(tuple.AppendInt(slices.Clip(key), part), value)
		part++
	}
	return nil
}

// ReadMoved reads at most n of a shard's entries in (from, upTo] that have moved since a cut. more reports whether
// there are others after them.
func ReadMoved(r kv.Reader, keys db.Space, shard db.ShardID, at, from, upTo db.Seq, n int) (
	entries []Entry, more bool, err error,
) {
	prefix := len(tuple.AppendString(keys.Sub(nil, keyspace.Moved), string(shard)))
	if from.Compare(upTo) >= 0 {
		return nil, false, nil
	}
	in := kv.KeyRange{
		Begin: db.PrefixRange(moved(keys, nil, shard, from)).End, // after its parts
		End:   db.PrefixRange(moved(keys, nil, shard, upTo)).End,
	}
	it := r.GetRange(in, kv.RangeOptions{Mode: kv.ModeIterator})
	defer it.Close()
	conflicts := 0
	var last *movedEntry // entry that following parts belong to; nil if it is skipped
	for it.Next() {
		row := it.KeyValue()
		_, part, err := db.TakeSeq(row.Key[prefix:])
		if err != nil {
			return nil, false, db.Corrupt("changes entry", err)
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
		since, value, err := db.TakeSeq(row.Value)
		if err != nil {
			return nil, false, db.Corrupt("changes entry", err)
		}
		if since.Compare(at) <= 0 {
			// It moved before this cut and is kept for another one.
			continue
		}
		if len(entries) == n || conflicts > movedBatch {
			return entries, true, nil
		}
		last = &movedEntry{}
		e := Entry{Shard: shard, Moved: last}
		if err := ParseEntry(&e, row.Key[prefix:], value); err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, false, it.Err()
}

// take decodes a part of an entry's conflicts.
func (m *movedEntry) take(part []byte) error {
	for len(part) > 0 {
		var l rev.LeafKV
		live, rest, err := tuple.TakeBool(part)
		if err == nil {
			l.Deleted = !live
			l.Rev, part, err = db.TakeRev(rest)
		}
		if err != nil {
			return db.Corrupt("conflicts of a changes entry", err)
		}
		m.conflicts = append(m.conflicts, l)
	}
	return nil
}

// ReadEntriesAt is ReadEntries on the feed as of a cut, or on the current feed if at is zero.
func ReadEntriesAt(r kv.Reader, keys db.Space, shard db.ShardID, at, from, goal db.Seq, n int) (
	entries []Entry, more bool, err error,
) {
	entries, more, err = ReadEntries(r, keys, shard, from, goal, n)
	if err != nil || at.IsZero() {
		return entries, more, err
	}
	moved, others, err := ReadMoved(r, keys, shard, at, from, goal, n)
	if err != nil || len(moved) == 0 {
		return entries, more, err
	}
	// The moved entries after the last one are not known.
	if others {
		last := moved[len(moved)-1].Seq
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Seq.Compare(last) > 0 })
	}
	entries = append(entries, moved...)
	slices.SortFunc(entries, func(a, b Entry) int { return a.Seq.Compare(b.Seq) })
	if len(entries) > n {
		return entries[:n], true, nil
	}
	return entries, more || others, nil
}

// ReadEntries reads at most n of a shard's changes in (from, goal]; a zero goal means the end. more reports whether
// there are others after them.
func ReadEntries(r kv.Reader, keys db.Space, shard db.ShardID, from, goal db.Seq, n int) (entries []Entry, more bool,
	err error) {
	prefix := len(keys.Feed(nil, shard))
	it := r.GetRange(EntryRange(keys, shard, from, goal), kv.RangeOptions{Limit: n + 1, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		if len(entries) == n {
			return entries, true, nil
		}
		e := Entry{Shard: shard}
		row := it.KeyValue()
		if err := ParseEntry(&e, row.Key[prefix:], row.Value); err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, false, it.Err()
}

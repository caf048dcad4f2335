package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A document that was purged has no entry in the feed any more, so indexes learn of it from the purge history. The
// history says which documents to look after and not what became of them: one that exists again has an entry, and is
// indexed from that.

// purgedDocs reads the history in (from, goal], at most n notes, and has for each document that does not exist at the
// reader's version what takes its rows out of the index; with all for those that do exist too. goal zero is the end.
func (ix *Index) purgedDocs(t *txn, r kv.Reader, from, goal Seq, n int, all bool) (*batch, error) {
	b, keys := &batch{upTo: buildPosition{seq: goal}, done: true}, t.keys
	if !goal.IsZero() && goal.Compare(from) <= 0 {
		return b, nil
	}
	rows := r.GetRange(purgeRange(keys, t.cfg.incarnation, from, goal), kv.RangeOptions{Limit: n + 1, Mode: kv.ModeExact})
	defer rows.Close()
	prefix := len(keys.sub(nil, keyspace.Purges))
	seen := map[string]bool{}
	var ids []string
	var leaves []kv.RangeIterator
	for notes := 0; rows.Next(); notes++ {
		if notes == n {
			b.done = false
			break
		}
		row := rows.KeyValue()
		id, _, err := tuple.TakeString(row.Value)
		if err == nil {
			b.upTo.seq, err = takePurgeSeq(row.Key[prefix:], t.cfg.incarnation)
		}
		if err != nil {
			return nil, corrupt("purge history", err)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
		leaves = append(leaves, getRange(r, keys.doc(nil, keyspace.Revisions, id), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i, it := range leaves {
		there := it.Next()
		it.Close()
		if err := it.Err(); err != nil {
			return nil, err
		}
		if (!there || all) && (ix.design.Options.IncludeDesign || !isDesign(ids[i])) {
			b.docs = append(b.docs, indexedDoc{id: ids[i], seq: b.upTo.seq, views: make([]emission, len(ix.design.Views)), purged: true})
		}
	}
	return b, nil
}

// purgeRange is the notes in (from, goal], goal zero being the end. Notes are of the database's incarnation, also those that an import has written: all
// are after a sequence of an earlier one.
func purgeRange(keys space, incarnation int64, from, goal Seq) kv.KeyRange {
	prefix := keys.sub(nil, keyspace.Purges)
	r := prefixRange(prefix)
	bound := func(s Seq) []byte {
		return append(tuple.AppendVersionstamp(prefix[:len(prefix):len(prefix)], s.versionstamp()), 0)
	}
	if from.Incarnation == incarnation {
		r.Begin = bound(from)
	}
	switch {
	case goal.IsZero():
	case goal.Incarnation < incarnation:
		r.End = r.Begin
	default:
		r.End = bound(goal)
	}
	return r
}

// takePurgeSeq is the sequence of a note.
func takePurgeSeq(key []byte, incarnation int64) (Seq, error) {
	v, _, err := tuple.TakeVersionstamp(key)
	s := Seq{Incarnation: incarnation}
	copy(s.Stamp[:], v.Transaction[:])
	s.Stamp[10], s.Stamp[11] = byte(v.User>>8), byte(v.User)
	return s, err
}

// dropPurged takes out of the index what was purged up to the goal, before steps go there: those documents that were
// made anew up to the goal have entries there. Where writers keep the index, a document that exists is left alone: its
// writer has indexed it, or a step will. Of one that is made anew meanwhile, the writer conflicts with this on what the
// document has in the index.
func (b *Build) dropPurged(ctx context.Context) error {
	for notes := 500; b.purged.Compare(b.Goal) < 0; {
		var upTo Seq
		_, _, err := transact(ctx, b.Index.db, func(t *txn) (struct{}, error) {
			t.MakesRoom()
			status := t.Get(b.keys.infoKey(keyspace.ViewStatus))
			batch, err := b.Index.purgedDocs(t, t.Snapshot(), b.purged, b.Goal, notes, !b.interactive)
			if err != nil {
				return struct{}{}, err
			}
			if err := b.checkToken(status); err != nil {
				return struct{}{}, err
			}
			if upTo = batch.upTo.seq; batch.done {
				upTo = b.Goal
			}
			t.Set(b.keys.progressKey(purgedProgress), buildPosition{seq: upTo}.appendTuple(nil))
			return struct{}{}, replaceRows(t, &b.keys, batch.docs, b.keeps)
		})
		if tooMuch(err) && notes > 1 {
			notes /= 2
			continue
		}
		if err != nil {
			return err
		}
		b.purged = upTo
	}
	return nil
}

// purgedProgress is in the place of a shard in ViewProgress: up to where purges are in an index that is being built.
const purgedProgress ShardID = "purged"

// beginPurges finds in the note of the build before, or notes, up to where purges are in the index.
func (b *Build) beginPurges(t *txn, note []byte) error {
	if note != nil {
		at, err := parsePosition(note)
		b.purged = at.seq
		return err
	}
	if b.purged = b.From; b.first.Load() {
		b.purged = b.Goal // there are no rows of what was purged before
	}
	t.Set(b.keys.progressKey(purgedProgress), buildPosition{seq: b.purged}.appendTuple(nil))
	return nil
}

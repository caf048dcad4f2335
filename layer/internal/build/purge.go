package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A purged document has no entry in the feed, so indexes learn of purges from the purge history. The history tells
// which documents to check, not whether they exist: a document that was created again has an entry, and is indexed from
// that.

// purgedDocs reads at most n records of the purge history in (from, goal]. For each of their documents that does not
// exist at r's version, the batch has an indexedDoc that removes its rows; with all, for those that exist too. A zero
// goal means the end of the history.
func purgedDocs(ix *index.Index, t *db.Txn, r kv.Reader, from, goal db.Seq, n int, all bool) (*Batch, error) {
	b, keys := &Batch{UpTo: index.BuildPosition{Seq: goal}, Done: true}, t.Keys
	if !goal.IsZero() && goal.Compare(from) <= 0 {
		return b, nil
	}
	rows := r.GetRange(PurgeRange(keys, t.Cfg.Incarnation, from, goal),
		kv.RangeOptions{Limit: n + 1, Mode: kv.ModeExact})
	defer rows.Close()
	prefix := len(keys.Sub(nil, keyspace.Purges))
	seen := map[string]bool{}
	var ids []string
	var leaves []kv.RangeIterator
	for notes := 0; rows.Next(); notes++ {
		if notes == n {
			b.Done = false
			break
		}
		row := rows.KeyValue()
		id, _, err := tuple.TakeString(row.Value)
		if err == nil {
			b.UpTo.Seq, err = takePurgeSeq(row.Key[prefix:], t.Cfg.Incarnation)
		}
		if err != nil {
			return nil, db.Corrupt("purge history", err)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
		leaves = append(leaves,
			db.GetRange(r, keys.Doc(nil, keyspace.Revisions, id), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}))
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
		if (!there || all) && (ix.Design().MapsDesigns() || !db.IsDesign(ids[i])) {
			b.Docs = append(b.Docs,
				indexedDoc{Id: ids[i], seq: b.UpTo.Seq, Views: make([]index.Emission, len(ix.Design().Views)),
					purged: true})
		}
	}
	return b, nil
}

// PurgeRange returns the range of purge records in (from, goal]; a zero goal means the end. All records, also those
// written by an import, are of the database's current incarnation, so they are after any sequence of an earlier one.
func PurgeRange(keys db.Space, incarnation int64, from, goal db.Seq) kv.KeyRange {
	prefix := keys.Sub(nil, keyspace.Purges)
	r := db.PrefixRange(prefix)
	bound := func(s db.Seq) []byte {
		return append(tuple.AppendVersionstamp(prefix[:len(prefix):len(prefix)], s.Versionstamp()), 0)
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

// takePurgeSeq decodes the sequence of a purge record.
func takePurgeSeq(key []byte, incarnation int64) (db.Seq, error) {
	v, _, err := tuple.TakeVersionstamp(key)
	s := db.Seq{Incarnation: incarnation}
	copy(s.Stamp[:], v.Transaction[:])
	s.Stamp[10], s.Stamp[11] = byte(v.User>>8), byte(v.User)
	return s, err
}

// dropPurged removes the rows of documents that were purged up to the goal, before any step runs. Documents that were
// created again up to the goal are indexed by the steps from their new entries. In an interactive index, a document
// that exists is left alone: its writer has indexed it, or a step will. If a document is created again during the
// transaction, its writer conflicts with the transaction on the document's index entry.
func (b *Build) dropPurged(ctx context.Context) error {
	for notes := 500; b.purged.Compare(b.Goal) < 0; {
		var upTo db.Seq
		_, _, err := db.Transact(ctx, b.Index.Db, func(t *db.Txn) (struct{}, error) {
			t.MakesRoom()
			status := t.Get(b.keys.InfoKey(keyspace.ViewStatus))
			batch, err := purgedDocs(b.Index, t, t.Snapshot(), b.purged, b.Goal, notes, b.reads != besideWriters)
			if err != nil {
				return struct{}{}, err
			}
			if err := b.checkToken(status); err != nil {
				return struct{}{}, err
			}
			if upTo = batch.UpTo.Seq; batch.Done {
				upTo = b.Goal
			}
			b.notePurged(t, upTo)
			return struct{}{}, replaceRows(t, &b.keys, batch.Docs, b.writing() == keeping)
		})
		if db.TooMuch(err) && notes > 1 {
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

// purgedProgress takes the place of a shard id in ViewProgress: the sequence up to which a running build has applied
// purges.
const purgedProgress db.ShardID = "purged"

// beginPurges sets the sequence up to which purges are applied, from the progress of an earlier run, or stores a new
// one.
func (s *start) beginPurges(t *db.Txn, note []byte) error {
	b := s.Build
	if note != nil {
		at, err := index.ParsePosition(note)
		b.purged = at.Seq
		return err
	}
	if b.purged = b.From; b.writing() == adding {
		b.purged = b.Goal // there are no rows of documents purged before the goal
	}
	b.notePurged(t, b.purged)
	return nil
}

func (b *Build) notePurged(t *db.Txn, upTo db.Seq) {
	t.Set(b.keys.ProgressKey(purgedProgress), index.BuildPosition{Seq: upTo}.AppendTuple(nil))
}

// passPurges ends the start of a build. If no document was purged up to the goal, no further transaction is needed. The
// goal may be newer than the transaction's read version, but not than the snapshot.
func (s *start) passPurges(t *db.Txn) (state, error) {
	b := s.Build
	if b.purged.Compare(b.Goal) >= 0 {
		return stepping, nil
	}
	r := t.Snapshot()
	if b.snapshot != nil {
		r = b.snapshot
	}
	in := PurgeRange(t.Keys, t.Cfg.Incarnation, b.purged, b.Goal)
	notes := r.GetRange(in, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer notes.Close()
	if notes.Next() {
		return purging, nil
	}
	if err := notes.Err(); err != nil {
		return 0, err
	}
	b.purged = b.Goal
	b.notePurged(t, b.Goal)
	return stepping, nil
}

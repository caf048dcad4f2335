package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A document that was purged has no entry in the feed any more, so indexes learn of it from the purge history. The
// history says which documents to look after and not what became of them: one that exists again has an entry, and is
// indexed from that.

// purgedDocs reads the history in (from, goal], at most n notes, and has for each document that does not exist at the
// reader's version what takes its rows out of the index; with all for those that do exist too. goal zero is the end.
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
		if (!there || all) && (ix.Design().Options.IncludeDesign || !db.IsDesign(ids[i])) {
			b.Docs = append(b.Docs,
				indexedDoc{Id: ids[i], seq: b.UpTo.Seq, Views: make([]index.Emission, len(ix.Design().Views)),
					purged: true})
		}
	}
	return b, nil
}

// PurgeRange is the notes in (from, goal], goal zero being the end. Notes are of the database's incarnation, also those
// that an import has written: all are after a sequence of an earlier one.
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

// takePurgeSeq is the sequence of a note.
func takePurgeSeq(key []byte, incarnation int64) (db.Seq, error) {
	v, _, err := tuple.TakeVersionstamp(key)
	s := db.Seq{Incarnation: incarnation}
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

// purgedProgress is in the place of a shard in ViewProgress: up to where purges are in an index that is being built.
const purgedProgress db.ShardID = "purged"

// beginPurges finds in the note of the build before, or notes, up to where purges are in the index.
func (s *start) beginPurges(t *db.Txn, note []byte) error {
	b := s.Build
	if note != nil {
		at, err := index.ParsePosition(note)
		b.purged = at.Seq
		return err
	}
	if b.purged = b.From; b.writing() == adding {
		b.purged = b.Goal // there are no rows of what was purged before
	}
	b.notePurged(t, b.purged)
	return nil
}

func (b *Build) notePurged(t *db.Txn, upTo db.Seq) {
	t.Set(b.keys.ProgressKey(purgedProgress), index.BuildPosition{Seq: upTo}.AppendTuple(nil))
}

// passPurges ends the start of a build: it needs no transactions of its own for what was purged where that is nothing.
// The goal may be newer than the transaction's read version, but not than the snapshot.
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

package aggregate

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Whoever uses partials walks over the marks of a whole range, of which there are few. But an engine of sorted tables,
// such as the embedded one, keeps what was cleared until it compacts: after all rows of a large view were written
// again, and its partials mended, each query would step over the remains of as many marks as the view has rows. So
// marks are of an epoch, which is a part of their key. Aggregate begins another one where it finds more than a few:
// writers leave theirs there from then on, so that the epoch before only drains, and who reads looks into both until
// Aggregate has found it to be empty. After that nobody reads near it any more.
//
// The epoch is a part of the value that tells writers to leave marks, so that it costs them no read. They read it with
// conflict: one that has not seen the epoch begin does not leave a mark in the one before, but is repeated. That the
// draining has ended does not concern them, and has a key of its own.

// crowded is how many marks of a view are a reason to begin a new epoch before they are cleared. Each that begins has
// the writers of that moment repeated.
func crowded(ix *index.Index) int { return StateOf(ix.Db.Store).PartialRows }

// worn is how many ranges with marks of the newest epoch Aggregate mends, since they were written while it ran, before
// it begins another one.
func worn(ix *index.Index) int64 { return 16 * int64(StateOf(ix.Db.Store).PartialRows) }

// marksBefore is where marks were before there were epochs; all that there is of partials is from there on.
const marksBefore keyspace.ViewRange = 3

// Aggregates is how it stands with the partials of an index.
type Aggregates struct {
	On       bool  // there are some, or are about to be: who writes rows leaves marks
	Outdated bool  // there are some of a lower format, which are no good
	Epoch    int64 // of new marks
	draining bool  // there may be marks of the epoch before
}

// GetAggregates reads all but whether an epoch is draining: what writers of rows have to know.
func GetAggregates(r kv.Reader, k *index.Keys) func() (Aggregates, error) {
	f := r.Get(k.InfoKey(keyspace.ViewAggregated))
	return func() (a Aggregates, err error) {
		value, err := f.Wait()
		if value == nil || err != nil {
			return a, err
		}
		format, rest, err := tuple.TakeInt(value)
		switch {
		case err != nil:
			return a, db.Corrupt("aggregates", err)
		case format > keyspace.AggregateFormat:
			return a, fmt.Errorf("aggregates of format %d, this node knows %d", format, keyspace.AggregateFormat)
		case format < keyspace.AggregateFormat:
			return Aggregates{Outdated: true}, nil
		}
		a.On = true
		if a.Epoch, _, err = tuple.TakeInt(rest); err != nil {
			return a, db.Corrupt("aggregates", err)
		}
		return a, nil
	}
}

// GetMarked is GetAggregates for who reads marks.
func GetMarked(r kv.Reader, k *index.Keys) func() (Aggregates, error) {
	all, draining := GetAggregates(r, k), r.Get(k.InfoKey(keyspace.ViewDraining))
	return func() (Aggregates, error) {
		a, err := all()
		if !a.On || err != nil {
			return a, err
		}
		value, err := draining.Wait()
		a.draining = value != nil
		return a, err
	}
}

func markPrefix(k *index.Keys, view int, epoch int64) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewMarks+keyspace.ViewRange(epoch%keyspace.ViewEpochs)),
		int64(view))
}

// MarkPrefixes are those of all epochs of which there may be marks, that of new ones first.
func MarkPrefixes(k *index.Keys, view int, a Aggregates) [][]byte {
	prefixes := [][]byte{markPrefix(k, view, a.Epoch)}
	if a.draining {
		prefixes = append(prefixes, markPrefix(k, view, a.Epoch-1))
	}
	return prefixes
}

func setAggregates(tx kv.Transaction, k *index.Keys, epoch int64) {
	tx.Set(k.InfoKey(keyspace.ViewAggregated), tuple.AppendInt(tuple.AppendInt(nil, keyspace.AggregateFormat), epoch))
}

// DropAggregates removes all partials and marks.
func DropAggregates(tx kv.Transaction, k *index.Keys) {
	tx.Clear(k.InfoKey(keyspace.ViewAggregated))
	tx.Clear(k.InfoKey(keyspace.ViewDraining))
	begin := k.AppendRange(nil, marksBefore)
	_, end := tuple.Range(k.AppendRange(nil, keyspace.ViewMarks+keyspace.ViewEpochs-1))
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
}

// enterEpoch begins another epoch where a view has many marks, unless there is one that drains.
func enterEpoch(ix *index.Index, t *db.Txn, k *index.Keys, now Aggregates) error {
	if now.draining {
		return nil
	}
	for view := range k.Design.Views {
		n, err := CountRows(t.Snapshot(), index.Whole.At(markPrefix(k, view, now.Epoch)), crowded(ix))
		if err != nil {
			return err
		}
		if n == crowded(ix) {
			beginEpoch(t, k, now.Epoch+1)
			return nil
		}
	}
	return nil
}

// beginEpoch has the one before drain.
func beginEpoch(tx kv.Transaction, k *index.Keys, epoch int64) {
	tx.Set(k.InfoKey(keyspace.ViewDraining), tuple.AppendInt(nil, epoch-1))
	setAggregates(tx, k, epoch)
}

// CountRows counts the rows of a range, up to a limit.
func CountRows(r kv.Reader, in kv.KeyRange, limit int) (n int, err error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// leaveEpoch has readers look into one epoch again, where no marks are left of the one before, and begins another one
// where this one is worn.
func leaveEpoch(ctx context.Context, ix *index.Index, mended int64) error {
	for {
		begun, err := db.Read(ctx, ix.Db, func(t *db.Txn) (bool, error) {
			k := ix.Keys(t.Keys)
			marked, found := GetMarked(t, &k), k.Find(t)
			a, err := marked()
			if !a.On || err != nil {
				return false, err
			}
			if err := found(); err != nil {
				return false, err
			}
			if a.draining {
				if drained, err := a.drained(t, &k); !drained || err != nil {
					return false, err
				}
				t.Clear(k.InfoKey(keyspace.ViewDraining))
			}
			if mended < worn(ix) {
				return false, nil
			}
			beginEpoch(t, &k, a.Epoch+1)
			return true, nil
		})
		if !begun || err != nil {
			return err
		}
		mended = 0
	}
}

// drained reports whether no marks are left of the epoch before. No new ones can come.
func (a *Aggregates) drained(t *db.Txn, k *index.Keys) (bool, error) {
	for view := range k.Design.Views {
		row, err := db.FirstRow(t.Snapshot(), index.Whole.At(markPrefix(k, view, a.Epoch-1)), false)
		if row != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

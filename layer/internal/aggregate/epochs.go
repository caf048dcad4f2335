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

// Readers of partials read all marks in a range. Usually there are few. But an engine with sorted tables, such
// as the embedded one, keeps cleared keys until it compacts: after all rows of a large view were rewritten and its
// partials repaired, each query would step over as many remains of marks as the view has rows. Therefore marks belong
// to an epoch, which is part of their key. If Aggregate finds more than a few marks, it begins a new epoch. From then
// on writers leave their marks there, and the previous epoch only drains. Readers look into both epochs until Aggregate
// has found the previous one empty; after that, nobody reads near it.
//
// The epoch is part of the value that tells writers to leave marks, so it costs them no extra read. They read it with
// conflict: a writer that has missed the beginning of an epoch is retried instead of leaving a mark in the previous
// one. The end of draining does not concern writers, and has a key of its own.

// epochMarks is the number of marks in a view from which on a new epoch is begun before they are cleared. A new epoch
// makes the transactions of current writers retry.
func epochMarks(ix *index.Index) int { return StateOf(ix.Db.Store).PartialRows }

// freshRanges is the number of ranges with marks of the newest epoch, written while Aggregate was running, from which
// on it begins another epoch.
func freshRanges(ix *index.Index) int64 { return 16 * int64(StateOf(ix.Db.Store).PartialRows) }

// marksBefore is where marks were kept before there were epochs. All keys of partials are in or after this range.
const marksBefore keyspace.ViewRange = 3

// Aggregates is the state of an index's partials.
type Aggregates struct {
	On       bool  // partials exist or are about to be written, so that writers of rows must leave marks
	Outdated bool  // partials are in an older format and cannot be used
	Epoch    int64 // of new marks
	draining bool  // there may be marks of the previous epoch
}

// GetAggregates reads the state as writers of rows need it: without draining.
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
			return a, fmt.Errorf("aggregates of format %d, this node supports up to %d", format,
				keyspace.AggregateFormat)
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

// GetMarked is GetAggregates for readers of marks.
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

// MarkPrefixes returns the prefixes of all epochs that may have marks, that of new marks first.
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

// enterEpoch begins another epoch if a view has many marks, unless an epoch is draining.
func enterEpoch(ix *index.Index, t *db.Txn, k *index.Keys, now Aggregates) error {
	if now.draining {
		return nil
	}
	for view := range k.Design.Views {
		n, err := CountRows(t.Snapshot(), index.Whole.At(markPrefix(k, view, now.Epoch)), epochMarks(ix))
		if err != nil {
			return err
		}
		if n == epochMarks(ix) {
			beginEpoch(t, k, now.Epoch+1)
			return nil
		}
	}
	return nil
}

// beginEpoch begins an epoch and lets the previous one drain.
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

// leaveEpoch ends the draining of the previous epoch if it has no marks left, and begins another epoch if many ranges
// with marks of the current one were repaired.
func leaveEpoch(ctx context.Context, ix *index.Index, repaired int64) error {
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
			if repaired < freshRanges(ix) {
				return false, nil
			}
			beginEpoch(t, &k, a.Epoch+1)
			return true, nil
		})
		if !begun || err != nil {
			return err
		}
		repaired = 0
	}
}

// drained reports whether the previous epoch has no marks left. No new ones can appear there.
func (a *Aggregates) drained(t *db.Txn, k *index.Keys) (bool, error) {
	for view := range k.Design.Views {
		row, err := db.FirstRow(t.Snapshot(), index.Whole.At(markPrefix(k, view, a.Epoch-1)), false)
		if row != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

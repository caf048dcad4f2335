package layer

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Whoever uses partials walks over the marks of a whole range, of which there are few. But an engine of sorted tables, such as the embedded one, keeps what was cleared
// until it compacts: after all rows of a large view were written again, and its partials mended, each query would step over the remains of as many marks as the
// view has rows. So marks are of an epoch, which is a part of their key. Aggregate begins another one where it finds more than a few: writers leave theirs there from
// then on, so that the epoch before only drains, and who reads looks into both until Aggregate has found it to be empty. After that nobody reads near it any more.
//
// The epoch is a part of the value that tells writers to leave marks, so that it costs them no read. They read it with conflict: one that has not seen the epoch
// begin does not leave a mark in the one before, but is repeated. That the draining has ended does not concern them, and has a key of its own.

// crowded is how many marks of a view are a reason to begin a new epoch before they are cleared. Each that begins has the writers of that moment repeated.
func (ix *Index) crowded() int { return aggregateOf(ix.db.store).partialRows }

// worn is how many ranges with marks of the newest epoch Aggregate mends, since they were written while it ran, before it begins another one.
func (ix *Index) worn() int64 { return 16 * int64(aggregateOf(ix.db.store).partialRows) }

// marksBefore is where marks were before there were epochs; all that there is of partials is from there on.
const marksBefore keyspace.ViewRange = 3

// aggregates is how it stands with the partials of an index.
type aggregates struct {
	on       bool  // there are some, or are about to be: who writes rows leaves marks
	outdated bool  // there are some of a lower format, which are no good
	epoch    int64 // of new marks
	draining bool  // there may be marks of the epoch before
}

// getAggregates reads all but whether an epoch is draining: what writers of rows have to know.
func getAggregates(r kv.Reader, k *indexKeys) func() (aggregates, error) {
	f := r.Get(k.infoKey(keyspace.ViewAggregated))
	return func() (a aggregates, err error) {
		value, err := f.Wait()
		if value == nil || err != nil {
			return a, err
		}
		format, rest, err := tuple.TakeInt(value)
		switch {
		case err != nil:
			return a, corrupt("aggregates", err)
		case format > keyspace.AggregateFormat:
			return a, fmt.Errorf("aggregates of format %d, this node knows %d", format, keyspace.AggregateFormat)
		case format < keyspace.AggregateFormat:
			return aggregates{outdated: true}, nil
		}
		a.on = true
		if a.epoch, _, err = tuple.TakeInt(rest); err != nil {
			return a, corrupt("aggregates", err)
		}
		return a, nil
	}
}

// getMarked is getAggregates for who reads marks.
func getMarked(r kv.Reader, k *indexKeys) func() (aggregates, error) {
	all, draining := getAggregates(r, k), r.Get(k.infoKey(keyspace.ViewDraining))
	return func() (aggregates, error) {
		a, err := all()
		if !a.on || err != nil {
			return a, err
		}
		value, err := draining.Wait()
		a.draining = value != nil
		return a, err
	}
}

func (k *indexKeys) markPrefix(view int, epoch int64) []byte {
	return tuple.AppendInt(k.appendRange(nil, keyspace.ViewMarks+keyspace.ViewRange(epoch%keyspace.ViewEpochs)), int64(view))
}

// markPrefixes are those of all epochs of which there may be marks, that of new ones first.
func (k *indexKeys) markPrefixes(view int, a aggregates) [][]byte {
	prefixes := [][]byte{k.markPrefix(view, a.epoch)}
	if a.draining {
		prefixes = append(prefixes, k.markPrefix(view, a.epoch-1))
	}
	return prefixes
}

func setAggregates(tx kv.Transaction, k *indexKeys, epoch int64) {
	tx.Set(k.infoKey(keyspace.ViewAggregated), tuple.AppendInt(tuple.AppendInt(nil, keyspace.AggregateFormat), epoch))
}

// dropAggregates removes all partials and marks.
func dropAggregates(tx kv.Transaction, k *indexKeys) {
	tx.Clear(k.infoKey(keyspace.ViewAggregated))
	tx.Clear(k.infoKey(keyspace.ViewDraining))
	begin := k.appendRange(nil, marksBefore)
	_, end := tuple.Range(k.appendRange(nil, keyspace.ViewMarks+keyspace.ViewEpochs-1))
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
}

// enterEpoch begins another epoch where a view has many marks, unless there is one that drains.
func (ix *Index) enterEpoch(t *txn, k *indexKeys, now aggregates) error {
	if now.draining {
		return nil
	}
	for view := range k.design.Views {
		n, err := countRows(t.Snapshot(), whole.at(k.markPrefix(view, now.epoch)), ix.crowded())
		if err != nil {
			return err
		}
		if n == ix.crowded() {
			beginEpoch(t, k, now.epoch+1)
			return nil
		}
	}
	return nil
}

// beginEpoch has the one before drain.
func beginEpoch(tx kv.Transaction, k *indexKeys, epoch int64) {
	tx.Set(k.infoKey(keyspace.ViewDraining), tuple.AppendInt(nil, epoch-1))
	setAggregates(tx, k, epoch)
}

// countRows counts the rows of a range, up to a limit.
func countRows(r kv.Reader, in kv.KeyRange, limit int) (n int, err error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// leaveEpoch has readers look into one epoch again, where no marks are left of the one before, and begins another one where this one is worn.
func (ix *Index) leaveEpoch(ctx context.Context, mended int64) error {
	for {
		begun, err := read(ctx, ix.db, func(t *txn) (bool, error) {
			k := ix.keys(t.keys)
			marked, found := getMarked(t, &k), k.find(t)
			a, err := marked()
			if !a.on || err != nil {
				return false, err
			}
			if err := found(); err != nil {
				return false, err
			}
			if a.draining {
				if drained, err := a.drained(t, &k); !drained || err != nil {
					return false, err
				}
				t.Clear(k.infoKey(keyspace.ViewDraining))
			}
			if mended < ix.worn() {
				return false, nil
			}
			beginEpoch(t, &k, a.epoch+1)
			return true, nil
		})
		if !begun || err != nil {
			return err
		}
		mended = 0
	}
}

// drained reports whether no marks are left of the epoch before. No new ones can come.
func (a *aggregates) drained(t *txn, k *indexKeys) (bool, error) {
	for view := range k.design.Views {
		row, err := firstRow(t.Snapshot(), whole.at(k.markPrefix(view, a.epoch-1)), false)
		if row != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

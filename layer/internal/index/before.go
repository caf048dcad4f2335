package index

import (
	"bytes"
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A build of an index that has readers takes many transactions, and until the last one its rows are those of no
// sequence. So each transaction of such a build leaves beside the rows, at the same positions, what was there before
// the build (keyspace.ViewBefore), and adds to counters of its own. A reader who finds the build under way reads the
// rows with these laid over them, which makes them the rows of the index's sequence again, on whatever node it is and
// whoever builds (overlaid.go). The last transaction clears them all.
//
// Of all transactions of a build the first one at a position decides what was there. A build that takes over from
// another goes on with what that one has left.

// beforeRow is the value of a ViewBefore key.
type beforeRow struct {
	was   bool   // there was a row before the build
	is    bool   // there is one now
	value []byte // of the row that was there
}

func (b *beforeRow) append(dst []byte) []byte {
	flags := byte(0)
	if b.was {
		flags |= 1
	}
	if b.is {
		flags |= 2
	}
	return append(append(dst, flags), b.value...)
}

// Delta is how many rows there were more at the position.
func (b *beforeRow) Delta() int64 {
	switch {
	case b.was == b.is:
		return 0
	case b.was:
		return 1
	}
	return -1
}

var errBeforeRow = errors.New("row before a build without flags")

func ParseBeforeRow(value []byte) (b beforeRow, err error) {
	if len(value) == 0 {
		return b, db.Corrupt("view row", errBeforeRow)
	}
	return beforeRow{was: value[0]&1 != 0, is: value[0]&2 != 0, value: value[1:]}, nil
}

// BeforePrefix is what the keys of a view's rows before the build begin with; the position follows.
func (k *Keys) BeforePrefix(view int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewBefore), int64(view))
}

// PendingKey is by how much the build under way changes a counter of a view.
func (k *Keys) PendingKey(what keyspace.ViewInfoKey, view int) []byte {
	key := tuple.AppendInt(k.InfoKey(keyspace.ViewPending), int64(what))
	return tuple.AppendInt(key, int64(view))
}

// rowChange is one position at which a document's rows change.
type rowChange struct {
	position []byte // behind the view's prefix
	now      []byte // the row's value from now on; nil: there is none
	old      kv.Future[[]byte]
	before   kv.Future[[]byte]
}

// ChangedRows are the positions at which a document's rows in a view are replaced, with the reads of what is there. No
// other transaction writes rows of an index while a build does, so that these reads are without conflict.
func ChangedRows(tx kv.Transaction, k *Keys, view int, removed, added []Emitted) []rowChange {
	if len(removed)+len(added) == 0 {
		return nil
	}
	r, rows, before := tx.Snapshot(), k.RowPrefix(view), k.BeforePrefix(view)
	changes := make([]rowChange, 0, len(removed)+len(added))
	places := make(map[string]int, len(removed))
	note := func(position []byte) *rowChange {
		c := rowChange{position: position}
		c.old = r.Get(append(rows[:len(rows):len(rows)], position...))
		c.before = r.Get(append(before[:len(before):len(before)], position...))
		changes = append(changes, c)
		return &changes[len(changes)-1]
	}
	for i := range removed {
		places[string(removed[i].Position)] = len(changes)
		note(removed[i].Position)
	}
	for i := range added {
		e := &added[i]
		value := tuple.AppendBytes(tuple.AppendBytes(nil, e.Key), e.Value)
		if at, there := places[string(e.Position)]; there {
			changes[at].now = value
			continue
		}
		note(e.Position).now = value
	}
	return changes
}

// KeepBefore leaves what was there before the build, and returns which positions change: a row may be as it was.
func KeepBefore(tx kv.Transaction, k *Keys, view int, changes []rowChange) (changed map[string]bool, err error) {
	prefix := k.BeforePrefix(view)
	changed = make(map[string]bool, len(changes))
	var value []byte
	for i := range changes {
		c := &changes[i]
		old, err := c.old.Wait()
		if err != nil {
			return nil, err
		}
		kept, err := c.before.Wait()
		if err != nil {
			return nil, err
		}
		if (old == nil) == (c.now == nil) && bytes.Equal(old, c.now) {
			continue
		}
		changed[string(c.position)] = true
		before := beforeRow{was: old != nil, value: old}
		if kept != nil {
			if before, err = ParseBeforeRow(kept); err != nil {
				return nil, err
			}
		}
		before.is = c.now != nil
		value = before.append(value[:0])
		tx.Set(append(prefix[:len(prefix):len(prefix)], c.position...), value)
	}
	return changed, nil
}

// EndBuild forgets the build under way, which ends with a Conflict if it still runs: the rows are as they stand, and so
// are the counters.
func EndBuild(tx kv.Transaction, k *Keys) error {
	tx.Clear(k.InfoKey(keyspace.ViewStatus))
	begin, end := tuple.Range(k.InfoKey(keyspace.ViewProgress))
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	begin, end = tuple.Range(k.AppendRange(nil, keyspace.ViewBefore))
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	prefix := k.InfoKey(keyspace.ViewPending)
	it := db.GetRange(tx, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		what, rest, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return db.Corrupt("counter of an index", err)
		}
		view, _, err := tuple.TakeInt(rest)
		if err != nil {
			return db.Corrupt("counter of an index", err)
		}
		tx.Atomic(kv.AtomicAdd, k.ViewInfoKey(keyspace.ViewInfoKey(what), int(view)), bytes.Clone(row.Value))
	}
	if err := it.Err(); err != nil {
		return err
	}
	begin, end = tuple.Range(prefix)
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	return nil
}

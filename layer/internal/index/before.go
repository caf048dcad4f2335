package index

import (
	"bytes"
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A build of an index with readers takes many transactions, and before the last one the rows belong to no single
// sequence. Therefore each transaction of such a build keeps the rows that it overwrites, in keyspace.ViewBefore at the
// same positions, and counts changes in counters of its own. Readers that find a running build merge the kept rows with
// the current ones, which results in the rows of the index's sequence, on any node and whichever node builds
// (overlaid.go). The last transaction of the build clears what was kept.
//
// The first transaction of a build at a position decides what was there before. A build that takes over from another
// continues with what the other has kept.

// beforeRow is the value of a ViewBefore key.
type beforeRow struct {
	was   bool   // there was a row before the build
	is    bool   // there is a row now
	value []byte // the old row's value
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

// Delta returns the number of rows at the position before the build minus that now.
func (b *beforeRow) Delta() int64 {
	switch {
	case b.was == b.is:
		return 0
	case b.was:
		return 1
	}
	return -1
}

var errBeforeRow = errors.New("kept row without flags")

// ParseBeforeRow decodes a value of ViewBefore.
func ParseBeforeRow(value []byte) (b beforeRow, err error) {
	if len(value) == 0 {
		return b, db.Corrupt("view row", errBeforeRow)
	}
	return beforeRow{was: value[0]&1 != 0, is: value[0]&2 != 0, value: value[1:]}, nil
}

// BeforePrefix returns the common prefix of the keys of a view's kept rows; a position follows.
func (k *Keys) BeforePrefix(view int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewBefore), int64(view))
}

// PendingKey returns the key that collects the running build's changes of a view's counter.
func (k *Keys) PendingKey(what keyspace.ViewInfoKey, view int) []byte {
	key := tuple.AppendInt(k.InfoKey(keyspace.ViewPending), int64(what))
	return tuple.AppendInt(key, int64(view))
}

// rowChange is one position at which a document's rows change.
type rowChange struct {
	position []byte // without the view's prefix
	now      []byte // the row's new value, nil to remove the row
	old      kv.Future[[]byte]
	before   kv.Future[[]byte]
}

// ChangedRows returns the positions at which a document's rows in a view are replaced, and starts reading what is
// there. The reads are without conflict, since no other transaction writes rows of an index during a build.
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

// KeepBefore keeps the rows from before the build. It returns the positions that really change.
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

// EndBuild ends the running build, keeping the rows and counters that it has written. A build that is still running
// gets a Conflict.
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

package embedded

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// cursor walks the rows of a span, at a version and through a transaction's own writes. It stays valid when its view is shut: Pebble's iterator holds
// what it reads.
type cursor struct {
	iter    *pebble.Iterator
	view    *view // where that has to stay open for as long as the cursor
	reverse bool
	r       span          // end is not nil
	picked  *pickedRanges // where not all rows of r are wanted

	// The transaction's own writes, laid over the rows of the store.
	writes  writeTable
	cleared spanSet
	barrier span // the first unreadable span in the way, where walled
	walled  bool

	own     *write // the next of the transaction's own writes
	started bool
	onBase  bool // the iterator is at the next row of the store

	key, value []byte // the row; valid until next
	err        error
}

// open returns a cursor before the first row of r, which has an end. writes may be nil, and must not change while the cursor is open.
func (v *view) open(r span, reverse bool, writes *writeSet) (*cursor, error) {
	if !v.enter() {
		return nil, errTooOld
	}
	held := false
	defer func() {
		if !held {
			v.leave()
		}
	}()
	iter, err := v.snap.NewIter(&pebble.IterOptions{LowerBound: lowerBound(r), UpperBound: r.end})
	if err != nil {
		return nil, readError(err)
	}
	c := &cursor{iter: iter, reverse: reverse, r: r}
	if v.standby {
		c.view, held = v, true
	}
	if writes != nil {
		c.lay(writes)
	}
	return c, nil
}

// lowerBound is r's for Pebble, which takes nil, and not an empty key, for the start.
func lowerBound(r span) []byte {
	if len(r.begin) == 0 {
		return nil
	}
	return r.begin
}

// lay takes writes into account from the next row on.
func (c *cursor) lay(writes *writeSet) {
	c.writes = writes.table
	c.cleared = writes.cleared
	c.barrier, c.walled = writes.unreadable.overlap(c.r, c.reverse)
}

func (c *cursor) close() error {
	if c.iter == nil {
		return nil
	}
	err := c.iter.Close()
	if c.view != nil {
		c.view.leave()
	}
	c.iter = nil
	if err != nil {
		return readError(err)
	}
	return nil
}

// next moves to the next row. False means the end, or err.
func (c *cursor) next() bool {
	if c.err != nil {
		return false
	}
	if c.picked != nil {
		return c.nextPicked()
	}
	c.moveBase()
	if c.writes.len() == 0 && len(c.cleared.spans) == 0 && !c.walled {
		if c.onBase {
			return c.take()
		}
		return c.end()
	}
	return c.nextLaid()
}

// end tells the end from an error. It is false.
func (c *cursor) end() bool {
	if err := c.iter.Error(); err != nil {
		c.err = readError(err)
	} else if c.walled {
		c.err = errUnreadable
	}
	return false
}

// moveBase puts the iterator at the next row of the store. The row it is at was either used or not moved to yet.
func (c *cursor) moveBase() {
	switch {
	case !c.started:
		c.started = true
		if c.reverse {
			c.onBase = c.iter.Last()
		} else {
			c.onBase = c.iter.First()
		}
		c.own = c.ownAfter(nil)
	case c.onBase && c.key != nil && bytes.Equal(c.key, c.iter.Key()):
		c.step()
	}
}

func (c *cursor) step() {
	if c.reverse {
		c.onBase = c.iter.Prev()
	} else {
		c.onBase = c.iter.Next()
	}
}

// take makes the iterator's row the cursor's.
func (c *cursor) take() bool {
	c.key = c.iter.Key()
	c.value, c.err = c.iter.ValueAndErr()
	if c.err != nil {
		c.err = readError(c.err)
		return false
	}
	return true
}

// nextLaid merges the rows of the store with the transaction's writes.
func (c *cursor) nextLaid() bool {
	for {
		c.skipCleared()
		if !c.onBase && c.iter.Error() != nil {
			return c.end()
		}
		own, base := c.own, c.onBase
		if own != nil && base {
			order := bytes.Compare(own.key, c.iter.Key())
			if c.reverse {
				order = -order
			}
			if order > 0 {
				own = nil
			} else if order < 0 {
				base = false
			}
		}
		if own == nil && !base {
			return c.end()
		}
		if own == nil {
			return !c.behindBarrier(c.iter.Key()) && c.take()
		}
		if c.behindBarrier(own.key) {
			return false
		}
		exists, ok := c.apply(own, base)
		if !ok {
			return false
		}
		c.own = c.ownAfter(own)
		if exists {
			return true
		}
		if base {
			c.step()
		}
	}
}

// apply makes the row of an own write, over the store's row where base, the cursor's. ok is false after an error.
func (c *cursor) apply(own *write, base bool) (exists, ok bool) {
	switch own.kind {
	case kindSet:
		c.key, c.value = own.key, own.value
		return true, true
	case kindStamped:
		c.err = errUnreadable
		return false, false
	case kindOps:
		var stored []byte
		if base {
			if stored, c.err = c.iter.ValueAndErr(); c.err != nil {
				c.err = readError(c.err)
				return false, false
			}
		}
		c.value, exists = fold(own.ops, stored, base)
		c.key = own.key
		return exists, true
	}
	return false, true
}

// skipCleared moves the iterator out of what the transaction cleared.
func (c *cursor) skipCleared() {
	for c.onBase {
		s, in := c.cleared.find(c.iter.Key())
		if !in {
			return
		}
		if c.reverse {
			c.onBase = len(s.begin) > 0 && c.iter.SeekLT(s.begin)
		} else {
			c.onBase = c.iter.SeekGE(s.endKey())
		}
	}
}

// behindBarrier reports whether the walk to key crosses unreadable keys, and makes that the error.
func (c *cursor) behindBarrier(key []byte) bool {
	if !c.walled {
		return false
	}
	behind := bytes.Compare(key, c.barrier.begin) >= 0
	if c.reverse {
		behind = c.barrier.endsAfter(key)
	}
	if behind {
		c.err = errUnreadable
	}
	return behind
}

// ownAfter is the transaction's next own write after w in the direction of the walk, nil where there is none; the first one for a nil w.
func (c *cursor) ownAfter(w *write) (next *write) {
	switch {
	case c.writes.len() == 0:
		return nil
	case c.reverse && w == nil:
		next = c.writes.before(c.r.end)
	case c.reverse:
		next = c.writes.before(w.key)
	case w == nil:
		next = c.writes.from(c.r.begin, false)
	default:
		next = c.writes.from(w.key, true)
	}
	if next == nil || !c.r.endsAfter(next.key) || bytes.Compare(next.key, c.r.begin) < 0 {
		return nil
	}
	return next
}

package versions

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// cursor iterates over the rows of a span at a version, merged with a transaction's own writes. It stays valid when
// its view is shut: Pebble's iterator holds what it reads.
type cursor struct {
	iter    *pebble.Iterator
	view    *View
	stay    bool // the view has to stay open as long as the cursor
	reverse bool
	r       keys.Span     // end is not nil
	picked  *pickedRanges // set if not all rows of r are wanted

	// The transaction's own writes, merged over the rows of the store.
	writes  writes.Table
	cleared keys.Set
	barrier keys.Span // the first unreadable span in the way, if walled
	walled  bool

	own     *writes.Write // the next of the transaction's own writes
	started bool
	onBase  bool // the iterator is at the next row of the store

	key, value []byte // the row; valid until next
	err        error
}

// open returns a cursor before the first row of r, which must have an end. writes may be nil, and must not change
// while the cursor is open.
func (v *View) open(r keys.Span, reverse bool, writes *writes.Set) (*cursor, error) {
	if !v.enter() {
		return nil, failure.ErrTooOld
	}
	held := false
	defer func() {
		if !held {
			v.leave()
		}
	}()
	iter := v.idle.take(LowerBound(r), r.End)
	if iter == nil {
		var err error
		if iter, err = v.snap.NewIter(&pebble.IterOptions{LowerBound: LowerBound(r), UpperBound: r.End}); err != nil {
			return nil, failure.OfRead(err)
		}
	}
	c := &cursor{iter: iter, view: v, reverse: reverse, r: r}
	if v.Standby {
		c.stay, held = true, true
	}
	if writes != nil {
		c.lay(writes)
	}
	return c, nil
}

// LowerBound returns the lower bound of r for Pebble, which takes nil, not an empty key, for the start.
func LowerBound(r keys.Span) []byte {
	if len(r.Begin) == 0 {
		return nil
	}
	return r.Begin
}

// lay merges writes into the rows from the next row on.
func (c *cursor) lay(writes *writes.Set) {
	c.writes = writes.Table
	c.cleared = writes.Cleared
	c.barrier, c.walled = writes.Unreadable.Overlap(c.r, c.reverse)
}

func (c *cursor) close() error {
	if c.iter == nil {
		return nil
	}
	var err error
	if c.stay {
		err = c.iter.Close()
		c.view.leave()
	} else {
		err = c.view.idle.put(c.iter)
	}
	c.iter = nil
	if err != nil {
		return failure.OfRead(err)
	}
	return nil
}

// next moves to the next row. It returns false at the end or after an error.
func (c *cursor) next() bool {
	if c.err != nil {
		return false
	}
	if c.picked != nil {
		return c.nextPicked()
	}
	c.moveBase()
	if c.writes.Len() == 0 && len(c.cleared.Spans) == 0 && !c.walled {
		if c.onBase {
			return c.take()
		}
		return c.end()
	}
	return c.nextLaid()
}

// end records the iterator's error, if any. It returns false.
func (c *cursor) end() bool {
	if err := c.iter.Error(); err != nil {
		c.err = failure.OfRead(err)
	} else if c.walled {
		c.err = failure.ErrUnreadable
	}
	return false
}

// moveBase moves the iterator to the next row of the store. Its current row was used or is not valid yet.
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

// take copies the iterator's row to the cursor.
func (c *cursor) take() bool {
	c.key = c.iter.Key()
	c.value, c.err = c.iter.ValueAndErr()
	if c.err != nil {
		c.err = failure.OfRead(c.err)
		return false
	}
	return true
}

// nextLaid moves to the next row of the store merged with the transaction's writes.
func (c *cursor) nextLaid() bool {
	for {
		c.skipCleared()
		if !c.onBase && c.iter.Error() != nil {
			return c.end()
		}
		own, base := c.own, c.onBase
		if own != nil && base {
			order := bytes.Compare(own.Key, c.iter.Key())
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
		if c.behindBarrier(own.Key) {
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

// apply makes the cursor's row from an own write, over the store's row if base. ok is false after an error.
func (c *cursor) apply(own *writes.Write, base bool) (exists, ok bool) {
	switch own.Kind {
	case writes.KindSet:
		c.key, c.value = own.Key, own.Value
		return true, true
	case writes.KindStamped:
		c.err = failure.ErrUnreadable
		return false, false
	case writes.KindOps:
		var stored []byte
		if base {
			if stored, c.err = c.iter.ValueAndErr(); c.err != nil {
				c.err = failure.OfRead(c.err)
				return false, false
			}
		}
		c.value, exists = writes.Fold(own.Ops, stored, base)
		c.key = own.Key
		return exists, true
	}
	return false, true
}

// skipCleared moves the iterator past a range that the transaction cleared.
func (c *cursor) skipCleared() {
	for c.onBase {
		s, in := c.cleared.Find(c.iter.Key())
		if !in {
			return
		}
		if c.reverse {
			c.onBase = len(s.Begin) > 0 && c.iter.SeekLT(s.Begin)
		} else {
			c.onBase = c.iter.SeekGE(s.EndKey())
		}
	}
}

// behindBarrier reports whether the way to key crosses unreadable keys, and then sets the error.
func (c *cursor) behindBarrier(key []byte) bool {
	if !c.walled {
		return false
	}
	behind := bytes.Compare(key, c.barrier.Begin) >= 0
	if c.reverse {
		behind = c.barrier.EndsAfter(key)
	}
	if behind {
		c.err = failure.ErrUnreadable
	}
	return behind
}

// ownAfter returns the transaction's next own write after w in the cursor's direction, or the first one if w is nil;
// nil for none.
func (c *cursor) ownAfter(w *writes.Write) (next *writes.Write) {
	switch {
	case c.writes.Len() == 0:
		return nil
	case c.reverse && w == nil:
		next = c.writes.Before(c.r.End)
	case c.reverse:
		next = c.writes.Before(w.Key)
	case w == nil:
		next = c.writes.From(c.r.Begin, false)
	default:
		next = c.writes.From(w.Key, true)
	}
	if next == nil || !c.r.EndsAfter(next.Key) || bytes.Compare(next.Key, c.r.Begin) < 0 {
		return nil
	}
	return next
}

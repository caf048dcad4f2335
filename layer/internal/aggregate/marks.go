package aggregate

import (
	"bytes"
	"encoding/binary"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
)

// MarkRows leaves marks where one document's rows in a view change, for the partials that cover them.
func MarkRows(tx kv.Transaction, k *index.Keys, view int, epoch int64, removed, added []index.Emitted) {
	if len(removed)+len(added) == 0 {
		return
	}
	type change struct {
		delta   int64
		key     []byte // of the old row
		another bool   // the key has changed, such as 1.0 instead of 1
	}
	changes := make(map[string]change, len(removed)+len(added))
	for i := range removed {
		changes[string(removed[i].Position)] = change{-1, removed[i].Key, false}
	}
	for i := range added {
		c := changes[string(added[i].Position)]
		c.delta++
		c.another = c.delta == 0 && !bytes.Equal(c.key, added[i].Key)
		changes[string(added[i].Position)] = c
	}
	values := reduce.UsesValues(k.Design.Views[view].Reduce)
	prefix := markPrefix(k, view, epoch)
	key := make([]byte, 0, 256)
	for position, c := range changes {
		if c.delta != 0 || c.another || values {
			key = append(append(key[:0], prefix...), position...)
			tx.Atomic(kv.AtomicAdd, key, db.LittleEndian(c.delta))
		}
	}
}

// markCursors find the marks of a view in all epochs that may have some.
type markCursors []*markCursor

// NewMarkCursors returns cursors for the marks under each of the prefixes, within the span all.
func NewMarkCursors(r kv.Reader, prefixes [][]byte, all index.Span, reverse bool) markCursors {
	cs := make(markCursors, len(prefixes))
	for i, prefix := range prefixes {
		cs[i] = &markCursor{r: r, prefix: prefix, all: all, reverse: reverse}
	}
	return cs
}

// Close closes the cursors' iterators.
func (cs markCursors) Close() {
	for _, c := range cs {
		c.close()
	}
}

// Any reports whether there is a mark in the span.
func (cs markCursors) Any(s index.Span) (bool, error) {
	for _, c := range cs {
		if err := c.seek(s); err != nil || c.inside(s) {
			return err == nil, err
		}
	}
	return false, nil
}

// Sum returns by how much the number of rows in a span has grown. If fits, which may be nil, rejects a mark, ok is
// false and n must not be used.
func (cs markCursors) Sum(s index.Span, fits func(position []byte, delta int64) bool) (n int64, ok bool, err error) {
	for _, c := range cs {
		for err = c.seek(s); err == nil && c.inside(s); err = c.step() {
			if fits != nil && !fits(c.at, c.delta) {
				return 0, false, nil
			}
			n += c.delta
		}
		if err != nil {
			return 0, false, err
		}
	}
	return n, true, nil
}

// markCursor finds the marks of one epoch, in the order of their positions or in reverse. The spans that it is asked
// about must be in that order too.
type markCursor struct {
	r       kv.Reader
	prefix  []byte
	all     index.Span // where to search
	reverse bool
	before  bool // reads the rows that a build has kept, instead of marks

	it    kv.RangeIterator // nil if it has to be opened
	at    []byte           // position of the current mark; nil if there are no more
	delta int64
	past  []byte // the previous mark; nil if there was none since the iterator was opened
}

// marksStep is how many marks are skipped one by one before the iterator is opened again after them.
const marksStep = 16

func (c *markCursor) close() {
	if c.it != nil {
		c.it.Close()
		c.it = nil
	}
}

// step moves to the next mark.
func (c *markCursor) step() error {
	if c.at != nil {
		c.past = append(c.past[:0], c.at...)
	}
	if !c.it.Next() {
		c.at = nil
		return c.it.Err()
	}
	row := c.it.KeyValue()
	c.at = append(c.at[:0], row.Key[len(c.prefix):]...)
	c.delta = 0
	if c.before {
		b, err := index.ParseBeforeRow(row.Value)
		c.delta = b.Delta()
		return err
	}
	if len(row.Value) == 8 {
		c.delta = int64(binary.LittleEndian.Uint64(row.Value))
	}
	return nil
}

// seek moves to the first mark of a span, or to one after the span.
func (c *markCursor) seek(s index.Span) error {
	before := func(mark []byte) bool { return mark != nil && bytes.Compare(mark, s.Begin) < 0 }
	if c.reverse {
		before = func(mark []byte) bool { return mark != nil && bytes.Compare(mark, s.End) >= 0 }
	}
	if c.it != nil && (c.past == nil || before(c.past)) {
		for range marksStep {
			if !before(c.at) {
				return nil
			}
			if err := c.step(); err != nil {
				return err
			}
		}
	}
	c.close()
	rest := index.Span{Begin: s.Begin, End: c.all.End}
	if c.reverse {
		rest = index.Span{Begin: c.all.Begin, End: s.End}
	}
	c.at, c.past = nil, nil
	c.it = c.r.GetRange(rest.At(c.prefix), kv.RangeOptions{Reverse: c.reverse, Mode: kv.ModeIterator})
	return c.step()
}

// inside reports whether the current mark is in the span.
func (c *markCursor) inside(s index.Span) bool {
	return c.at != nil && bytes.Compare(c.at, s.Begin) >= 0 && bytes.Compare(c.at, s.End) < 0
}

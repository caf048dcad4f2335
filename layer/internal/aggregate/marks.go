package aggregate

import (
	"bytes"
	"encoding/binary"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
)

// MarkRows marks where one document's rows in a view change, for the partials that cover them.
func MarkRows(tx kv.Transaction, k *index.Keys, view int, epoch int64, removed, added []index.Emitted) {
	if len(removed)+len(added) == 0 {
		return
	}
	type change struct {
		delta   int64
		key     []byte // of the row that was there
		another bool   // 1.0 in the place of 1
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

// markCursors find the marks of a view, of every epoch that has some.
type markCursors []*markCursor

func NewMarkCursors(r kv.Reader, prefixes [][]byte, all index.Span, reverse bool) markCursors {
	cs := make(markCursors, len(prefixes))
	for i, prefix := range prefixes {
		cs[i] = &markCursor{r: r, prefix: prefix, all: all, reverse: reverse}
	}
	return cs
}

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

// Sum is by how much the rows of a span have become more. ok is false, and the sum of no use, where one of its marks
// does not fit; fits may be nil.
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

// markCursor finds the marks of one epoch, in the order of their positions or against it. It goes one way, as the spans
// do that it is asked about.
type markCursor struct {
	r       kv.Reader
	prefix  []byte
	all     index.Span // to look in
	reverse bool
	before  bool // the marks are rows that were there before a build, and count by how many there were more

	it    kv.RangeIterator // nil: to be opened at the next question
	at    []byte           // the position of the mark that the iterator is on; nil: there is none left
	delta int64
	past  []byte // the mark before it; nil: none since the iterator was opened
}

// marksStep is how many marks are stepped over before the iterator is opened anew behind them.
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

// seek moves to the first mark of a span, or to one behind the span.
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

// inside reports whether the mark that the cursor is on is in the span.
func (c *markCursor) inside(s index.Span) bool {
	return c.at != nil && bytes.Compare(c.at, s.Begin) >= 0 && bytes.Compare(c.at, s.End) < 0
}

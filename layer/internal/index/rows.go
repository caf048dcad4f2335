package index

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Limits of what one document may emit into one view (V6, rfc-008 "Size limits"). Beyond them, the view skips the
// document and lists it with an error.
const (
	maxEmittedKey   = 8 << 10
	maxEmittedValue = 64 << 10
	maxEmittedKeys  = 64 << 10
	// maxEmitted leaves room for one document's rows in one transaction.
	maxEmitted = 4_000_000
)

// Emission is what one document emitted into one view: rows, or the error for which the view skips it.
type Emission struct {
	Rows    []Emitted
	Err     string
	Stopped bool // Err is a timeout
}

// Emitted is one emitted row.
type Emitted struct {
	Key, Value []byte // as JSON
	Position   []byte // the part of the row's key after the view's prefix
}

// Size returns the number of bytes of emitted keys, and of keys and values together, as index sizes count them.
func (e *Emission) Size() (keys, all int64) {
	for _, r := range e.Rows {
		keys += int64(len(r.Key))
		all += int64(len(r.Key) + len(r.Value))
	}
	return keys, all
}

// Prepare checks the limits and computes the positions of the rows. It needs no transaction.
func (e *Emission) Prepare(k *Keys, view int, docID string) {
	if e.Err == "" {
		e.Err = e.fault(k, view, docID)
	}
	if e.Err != "" {
		e.Rows = nil
	}
}

func (e *Emission) fault(k *Keys, view int, docID string) string {
	for i := range e.Rows {
		r := &e.Rows[i]
		switch {
		case len(r.Key) > maxEmittedKey:
			return fmt.Sprintf("emitted key of %d bytes exceeds %d", len(r.Key), maxEmittedKey)
		case len(r.Value) > maxEmittedValue:
			return fmt.Sprintf("emitted value of %d bytes exceeds %d", len(r.Value), maxEmittedValue)
		}
	}
	if keys, all := e.Size(); keys > maxEmittedKeys || all > maxEmitted {
		return fmt.Sprintf("emitted %d rows with %d bytes of keys and %d bytes in total; the limits are %d and %d",
			len(e.Rows), keys, all, maxEmittedKeys, maxEmitted)
	}
	if fault := e.place(k, view, docID); fault != "" {
		return fault
	}
	e.numberEqual()
	return ""
}

// place computes the positions of the rows as if each were the first with its sort key.
func (e *Emission) place(k *Keys, view int, docID string) (fault string) {
	longest := k.longestPosition(view)
	sizes := 0
	for i := range e.Rows {
		sizes += 16 + 3*len(e.Rows[i].Key) + len(docID)
	}
	arena := make([]byte, 0, sizes)
	var sortKey []byte
	for i := range e.Rows {
		start := len(arena)
		var err error
		if sortKey, err = k.appendSortKey(sortKey[:0], view, e.Rows[i].Key); err != nil {
			return err.Error()
		}
		arena = k.appendPosition(arena, sortKey, docID, 0)
		if n := len(arena) - start; n > longest {
			return fmt.Sprintf("emitted key of %d bytes has a sort key of %d bytes, too long for the store",
				len(e.Rows[i].Key), n+kv.MaxKeySize-longest)
		}
		e.Rows[i].Position = arena[start:len(arena):len(arena)]
	}
	return ""
}

// numberEqual gives different numbers to rows with the same sort key. As in CouchDB, they are ordered by raw key and
// value, not in the order in which they were emitted. Different keys with the same sort key (1 and 1.0) share one
// sequence of numbers, because the positions of their rows differ only in the number.
func (e *Emission) numberEqual() {
	if len(e.Rows) < 2 {
		return
	}
	seen := make(map[string]int64, len(e.Rows))
	for i := range e.Rows {
		seen[string(e.Rows[i].Position)]++
	}
	if len(seen) == len(e.Rows) {
		return
	}
	slices.SortStableFunc(e.Rows, func(a, b Emitted) int {
		return cmp.Or(bytes.Compare(a.Position, b.Position), bytes.Compare(a.rawOrder(), b.rawOrder()))
	})
	for i, n := 1, int64(0); i < len(e.Rows); i++ {
		stem := e.Rows[i].Position
		if n++; !bytes.Equal(stem, e.Rows[i-int(n)].Position) {
			n = 0
			continue
		}
		e.Rows[i].number(n)
	}
}

// number sets the number of a placed row.
func (r *Emitted) number(n int64) {
	stem := r.Position[:len(r.Position)-len(tuple.AppendInt(nil, 0))]
	r.Position = tuple.AppendInt(slices.Clone(stem), n)
}

// rawOrder returns a key that sorts like CouchDB sorts rows of one document with equal keys.
func (r *Emitted) rawOrder() []byte {
	order, err := collate.AppendRawKey(nil, r.Key)
	if err == nil && r.Value != nil {
		order, err = collate.AppendRawKey(order, r.Value)
	}
	// The value is nested too deeply for a key. Such rows stay in the order in which they were emitted.
	if err != nil {
		return nil
	}
	return order
}

package layer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Limits of what one document may emit into one view (V6, rfc-008 "Size limits"). What is beyond is an error of that document in that view, listed
// under its index errors.
const (
	maxEmittedKey   = 8 << 10
	maxEmittedValue = 64 << 10
	maxEmittedKeys  = 64 << 10
	// maxEmitted keeps one document's rows well inside one transaction.
	maxEmitted = 4_000_000
)

// emission is what one document emitted into one view: rows, or the error for which it is skipped.
type emission struct {
	rows []emitted
	err  string
}

type emitted struct {
	key, value []byte // JSON
	position   []byte // of the row: what follows the view's prefix in its key
}

// size is the bytes of emitted keys and values, as index sizes count them.
func (e *emission) size() (keys, all int64) {
	for _, r := range e.rows {
		keys += int64(len(r.key))
		all += int64(len(r.key) + len(r.value))
	}
	return keys, all
}

// prepare checks the limits and computes the row keys: the part of indexing that needs no transaction.
func (e *emission) prepare(k *indexKeys, view int, docID string) {
	if e.err == "" {
		e.err = e.fault(k, view, docID)
	}
	if e.err != "" {
		e.rows = nil
	}
}

func (e *emission) fault(k *indexKeys, view int, docID string) string {
	for i := range e.rows {
		r := &e.rows[i]
		switch {
		case len(r.key) > maxEmittedKey:
			return fmt.Sprintf("emitted key of %d bytes exceeds %d", len(r.key), maxEmittedKey)
		case len(r.value) > maxEmittedValue:
			return fmt.Sprintf("emitted value of %d bytes exceeds %d", len(r.value), maxEmittedValue)
		}
	}
	if keys, all := e.size(); keys > maxEmittedKeys || all > maxEmitted {
		return fmt.Sprintf("emitted %d rows with %d bytes of keys and %d bytes in all; at most %d and %d", len(e.rows), keys, all, maxEmittedKeys, maxEmitted)
	}
	if fault := e.place(k, view, docID); fault != "" {
		return fault
	}
	e.numberEqual()
	return ""
}

// place computes the positions of the rows, as if each were the first with its sort key.
func (e *emission) place(k *indexKeys, view int, docID string) (fault string) {
	longest := k.longestPosition(view)
	sizes := 0
	for i := range e.rows {
		sizes += 16 + 3*len(e.rows[i].key) + len(docID)
	}
	arena := make([]byte, 0, sizes)
	var sortKey []byte
	for i := range e.rows {
		start := len(arena)
		var err error
		if sortKey, err = k.appendSortKey(sortKey[:0], view, e.rows[i].key); err != nil {
			return err.Error()
		}
		arena = k.appendPosition(arena, sortKey, docID, 0)
		if n := len(arena) - start; n > longest {
			return fmt.Sprintf("emitted key of %d bytes has a sort key of %d bytes, more than a key of the store can hold",
				len(e.rows[i].key), n+kv.MaxKeySize-longest)
		}
		e.rows[i].position = arena[start:len(arena):len(arena)]
	}
	return ""
}

// numberEqual gives rows with the same sort key different numbers. As in CouchDB they follow the raw order of key and value, in whatever order they were
// emitted. Keys that only sort alike (1 and 1.0) share a sequence of numbers too, since their row keys are the same up
// to it.
func (e *emission) numberEqual() {
	if len(e.rows) < 2 {
		return
	}
	seen := make(map[string]int64, len(e.rows))
	for i := range e.rows {
		seen[string(e.rows[i].position)]++
	}
	if len(seen) == len(e.rows) {
		return
	}
	slices.SortStableFunc(e.rows, func(a, b emitted) int {
		return cmp.Or(bytes.Compare(a.position, b.position), bytes.Compare(a.rawOrder(), b.rawOrder()))
	})
	for i, n := 1, int64(0); i < len(e.rows); i++ {
		stem := e.rows[i].position
		if n++; !bytes.Equal(stem, e.rows[i-int(n)].position) {
			n = 0
			continue
		}
		e.rows[i].number(n)
	}
}

// number makes a row that was placed the n-th with its sort key.
func (r *emitted) number(n int64) {
	stem := r.position[:len(r.position)-len(tuple.AppendInt(nil, 0))]
	r.position = tuple.AppendInt(slices.Clone(stem), n)
}

// rawOrder sorts as CouchDB sorts the rows of one document and one key.
func (r *emitted) rawOrder() []byte {
	order, err := collate.AppendRawKey(nil, r.key)
	if err == nil && r.value != nil {
		order, err = collate.AppendRawKey(order, r.value)
	}
	if err != nil { // nested deeper than keys may be: such values come as they were emitted
		return nil
	}
	return order
}

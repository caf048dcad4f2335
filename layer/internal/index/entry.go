package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// ViewEntry is the value of an id key: the rows that a document has in a view.
type ViewEntry struct {
	Size   int64
	Failed bool
	Keys   [][]byte // emitted keys, in the order of the rows
	values [][]byte // digest of each row's value (appendDigest); nil in the first format
}

// EntryDigest is the size up to which the entry contains a value itself. For a longer value it contains as many bytes
// of its SHA-256. A weaker hash would allow somebody to find two values that look the same, and then the row would keep
// its old value.
const EntryDigest = 16

func appendDigest(dst, value []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	if len(value) <= EntryDigest {
		return append(dst, value...)
	}
	sum := sha256.Sum256(value)
	return append(dst, sum[:EntryDigest]...)
}

// AppendEntry appends the encoded entry.
func (e *Emission) AppendEntry(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.EntryFormat)
	count := uint64(len(e.Rows)) << 1
	if e.Err != "" {
		count |= 1
	}
	dst = binary.AppendUvarint(dst, count)
	for _, r := range e.Rows {
		dst = append(binary.AppendUvarint(dst, uint64(len(r.Key))), r.Key...)
		dst = appendDigest(dst, r.Value)
	}
	return dst
}

// ParseViewEntry decodes an entry. The result refers to value's memory.
func ParseViewEntry(value []byte) (e ViewEntry, err error) {
	format, rest, err := tuple.TakeInt(value)
	switch {
	case err != nil:
		return e, err
	case format == 1:
		return parseFirstEntry(rest)
	case format != keyspace.EntryFormat:
		return e, fmt.Errorf("view entry of format %d, this node supports up to %d", format, keyspace.EntryFormat)
	}
	count, rest, err := takeUvarint(rest)
	if err != nil {
		return e, err
	}
	e.Failed = count&1 != 0
	n := count >> 1
	if n > uint64(len(rest)) {
		return e, fmt.Errorf("view entry of %d bytes with %d rows", len(value), n)
	}
	e.Keys, e.values = make([][]byte, n), make([][]byte, n)
	for i := range e.Keys {
		size, behind, err := takeUvarint(rest)
		if err != nil || size > uint64(len(behind)) {
			return e, errEntryEnds
		}
		e.Keys[i], rest = behind[:size], behind[size:]
		length, behind, err := takeUvarint(rest)
		kept := min(length, EntryDigest)
		if err != nil || kept > uint64(len(behind)) {
			return e, errEntryEnds
		}
		e.values[i] = rest[:len(rest)-len(behind)+int(kept)]
		rest = behind[kept:]
		e.Size += int64(size) + int64(length)
	}
	return e, nil
}

var errEntryEnds = errors.New("view entry is cut short")

func takeUvarint(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, errEntryEnds
	}
	return n, b[size:], nil
}

// parseFirstEntry decodes an entry of the first format, without its format number. It contains no values.
func parseFirstEntry(value []byte) (e ViewEntry, err error) {
	n, rest, err := tuple.TakeInt(value)
	if err != nil {
		return e, err
	}
	if e.Size, rest, err = tuple.TakeInt(rest); err != nil {
		return e, err
	}
	if e.Failed, rest, err = tuple.TakeBool(rest); err != nil {
		return e, err
	}
	if n < 0 || n > int64(len(rest)) {
		return e, fmt.Errorf("view entry of %d bytes with %d rows", len(value), n)
	}
	e.Keys = make([][]byte, n)
	for i := range e.Keys {
		if e.Keys[i], rest, err = tuple.TakeBytes(rest); err != nil {
			return e, err
		}
	}
	return e, nil
}

// DocRows are the rows that a document has in a view, as stored before the transaction.
type DocRows struct {
	Entry  []byte // as stored; nil if there is none
	Failed bool
	Size   int64
	Rows   []Emitted // without values
	values [][]byte  // as in ViewEntry

	Removed, Added []Emitted   // differences from what the document emits now
	Changes        []rowChange // set if old rows are kept for readers
}

// Parse decodes Entry and computes the positions of the rows.
func (d *DocRows) Parse(k *Keys, view int, docID string) error {
	entry, err := ParseViewEntry(d.Entry)
	if err != nil {
		return err
	}
	was := Emission{Rows: make([]Emitted, len(entry.Keys))}
	for i, key := range entry.Keys {
		was.Rows[i].Key = key
	}
	if fault := was.place(k, view, docID); fault != "" {
		return fmt.Errorf("cannot compute the positions of existing rows: %s", fault)
	}
	was.numberInOrder()
	d.Failed, d.Size, d.Rows, d.values = entry.Failed, entry.Size, was.Rows, entry.values
	return nil
}

// numberInOrder is numberEqual for rows that are already in the order of their numbers.
func (e *Emission) numberInOrder() {
	if len(e.Rows) < 2 {
		return
	}
	seen := make(map[string]int64, len(e.Rows))
	for i := range e.Rows {
		r := &e.Rows[i]
		stem := string(r.Position)
		if n := seen[stem]; n > 0 {
			r.number(n)
		}
		seen[stem]++
	}
}

// Notes reports whether row i of the entry has r's key and, unless the entry contains no values, r's value.
func (d *DocRows) Notes(i int, r *Emitted) bool {
	return bytes.Equal(d.Rows[i].Key, r.Key) &&
		(len(d.values) == 0 || bytes.Equal(d.values[i], appendDigest(nil, r.Value)))
}

// Change returns the rows that the document no longer has and those that are new, with a changed row in both. Unchanged
// rows are in neither.
func (d *DocRows) Change(now []Emitted) (removed, added []Emitted) {
	if len(d.values) == 0 || len(now) == 0 {
		return d.Rows, now
	}
	var places map[string]int
	place := func(i int) (int, bool) {
		if i < len(d.Rows) && bytes.Equal(d.Rows[i].Position, now[i].Position) {
			return i, true // the usual case
		}
		if places == nil {
			places = make(map[string]int, len(d.Rows))
			for j := range d.Rows {
				places[string(d.Rows[j].Position)] = j
			}
		}
		j, ok := places[string(now[i].Position)]
		return j, ok
	}
	stays := make([]bool, len(d.Rows))
	var digest []byte
	for i := range now {
		if j, ok := place(i); ok && bytes.Equal(d.Rows[j].Key, now[i].Key) {
			digest = appendDigest(digest[:0], now[i].Value)
			if stays[j] = bytes.Equal(d.values[j], digest); stays[j] {
				continue
			}
		}
		added = append(added, now[i])
	}
	for j := range d.Rows {
		if !stays[j] {
			removed = append(removed, d.Rows[j])
		}
	}
	return removed, added
}

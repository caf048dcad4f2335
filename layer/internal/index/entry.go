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

// ViewEntry is the value of an id key: what a document has in a view.
type ViewEntry struct {
	Size   int64
	Failed bool
	Keys   [][]byte // emitted keys, in the order of their rows
	values [][]byte // of each what appendDigest made of its value; nil in the first format
}

// EntryDigest is up to how many bytes a value stands in the entry as it is. Of a longer one there is as much of its
// SHA-256, so that no two values are taken for one another, also where somebody looks for such: the row of a document
// would keep the value that it had before.
const EntryDigest = 16

func appendDigest(dst, value []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	if len(value) <= EntryDigest {
		return append(dst, value...)
	}
	sum := sha256.Sum256(value)
	return append(dst, sum[:EntryDigest]...)
}

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

// ParseViewEntry keeps parts of value.
func ParseViewEntry(value []byte) (e ViewEntry, err error) {
	format, rest, err := tuple.TakeInt(value)
	switch {
	case err != nil:
		return e, err
	case format == 1:
		return parseFirstEntry(rest)
	case format != keyspace.EntryFormat:
		return e, fmt.Errorf("view entry of format %d, this node knows %d", format, keyspace.EntryFormat)
	}
	count, rest, err := takeUvarint(rest)
	if err != nil {
		return e, err
	}
	e.Failed = count&1 != 0
	n := count >> 1
	if n > uint64(len(rest)) {
		return e, fmt.Errorf("view entry of %d bytes that names %d rows", len(value), n)
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

// parseFirstEntry reads what follows the format in an entry of the first one, which had nothing of values.
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
		return e, fmt.Errorf("view entry of %d bytes that names %d rows", len(value), n)
	}
	e.Keys = make([][]byte, n)
	for i := range e.Keys {
		if e.Keys[i], rest, err = tuple.TakeBytes(rest); err != nil {
			return e, err
		}
	}
	return e, nil
}

// DocRows is what a document had in a view.
type DocRows struct {
	Entry  []byte // as it is stored; nil: nothing
	Failed bool
	Size   int64
	Rows   []Emitted // without values
	values [][]byte  // ViewEntry.values

	Removed, Added []Emitted   // where it differs from what the document has now
	Changes        []rowChange // where what was there is kept
}

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
		return fmt.Errorf("rows that were written cannot be found again: %s", fault)
	}
	was.numberInOrder()
	d.Failed, d.Size, d.Rows, d.values = entry.Failed, entry.Size, was.Rows, entry.values
	return nil
}

// numberInOrder is numberEqual for rows that were numbered before: they are in the order of their numbers.
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

// Notes reports whether the entry has a row in place i, with the key and, where it tells, the value of another.
func (d *DocRows) Notes(i int, r *Emitted) bool {
	return bytes.Equal(d.Rows[i].Key, r.Key) &&
		(len(d.values) == 0 || bytes.Equal(d.values[i], appendDigest(nil, r.Value)))
}

// Change tells apart which of the rows that a document had go, and which of those that it has now come, in place of
// others or not: the rest stays as it is.
func (d *DocRows) Change(now []Emitted) (removed, added []Emitted) {
	if len(d.values) == 0 || len(now) == 0 {
		return d.Rows, now
	}
	var places map[string]int
	place := func(i int) (int, bool) {
		if i < len(d.Rows) && bytes.Equal(d.Rows[i].Position, now[i].Position) {
			return i, true // mostly
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

package layer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// viewEntry is the value of an id key: what a document has in a view.
type viewEntry struct {
	size   int64
	failed bool
	keys   [][]byte // emitted keys, in the order of their rows
	values [][]byte // of each what appendDigest made of its value; nil in the first format
}

// entryDigest is up to how many bytes a value stands in the entry as it is. Of a longer one there is as much of its
// SHA-256, so that no two values are taken for one another, also where somebody looks for such: the row of a document
// would keep the value that it had before.
const entryDigest = 16

func appendDigest(dst, value []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	if len(value) <= entryDigest {
		return append(dst, value...)
	}
	sum := sha256.Sum256(value)
	return append(dst, sum[:entryDigest]...)
}

func (e *emission) appendEntry(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.EntryFormat)
	count := uint64(len(e.rows)) << 1
	if e.err != "" {
		count |= 1
	}
	dst = binary.AppendUvarint(dst, count)
	for _, r := range e.rows {
		dst = append(binary.AppendUvarint(dst, uint64(len(r.key))), r.key...)
		dst = appendDigest(dst, r.value)
	}
	return dst
}

// parseViewEntry keeps parts of value.
func parseViewEntry(value []byte) (e viewEntry, err error) {
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
	e.failed = count&1 != 0
	n := count >> 1
	if n > uint64(len(rest)) {
		return e, fmt.Errorf("view entry of %d bytes that names %d rows", len(value), n)
	}
	e.keys, e.values = make([][]byte, n), make([][]byte, n)
	for i := range e.keys {
		size, behind, err := takeUvarint(rest)
		if err != nil || size > uint64(len(behind)) {
			return e, errEntryEnds
		}
		e.keys[i], rest = behind[:size], behind[size:]
		length, behind, err := takeUvarint(rest)
		kept := min(length, entryDigest)
		if err != nil || kept > uint64(len(behind)) {
			return e, errEntryEnds
		}
		e.values[i] = rest[:len(rest)-len(behind)+int(kept)]
		rest = behind[kept:]
		e.size += int64(size) + int64(length)
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
func parseFirstEntry(value []byte) (e viewEntry, err error) {
	n, rest, err := tuple.TakeInt(value)
	if err != nil {
		return e, err
	}
	if e.size, rest, err = tuple.TakeInt(rest); err != nil {
		return e, err
	}
	if e.failed, rest, err = tuple.TakeBool(rest); err != nil {
		return e, err
	}
	if n < 0 || n > int64(len(rest)) {
		return e, fmt.Errorf("view entry of %d bytes that names %d rows", len(value), n)
	}
	e.keys = make([][]byte, n)
	for i := range e.keys {
		if e.keys[i], rest, err = tuple.TakeBytes(rest); err != nil {
			return e, err
		}
	}
	return e, nil
}

// docRows is what a document had in a view.
type docRows struct {
	entry  []byte // as it is stored; nil: nothing
	failed bool
	size   int64
	rows   []emitted // without values
	values [][]byte  // viewEntry.values

	removed, added []emitted   // where it differs from what the document has now
	changes        []rowChange // where what was there is kept
}

func (d *docRows) parse(k *indexKeys, view int, docID string) error {
	entry, err := parseViewEntry(d.entry)
	if err != nil {
		return err
	}
	was := emission{rows: make([]emitted, len(entry.keys))}
	for i, key := range entry.keys {
		was.rows[i].key = key
	}
	if fault := was.place(k, view, docID); fault != "" {
		return fmt.Errorf("rows that were written cannot be found again: %s", fault)
	}
	was.numberInOrder()
	d.failed, d.size, d.rows, d.values = entry.failed, entry.size, was.rows, entry.values
	return nil
}

// numberInOrder is numberEqual for rows that were numbered before: they are in the order of their numbers.
func (e *emission) numberInOrder() {
	if len(e.rows) < 2 {
		return
	}
	seen := make(map[string]int64, len(e.rows))
	for i := range e.rows {
		r := &e.rows[i]
		stem := string(r.position)
		if n := seen[stem]; n > 0 {
			r.number(n)
		}
		seen[stem]++
	}
}

// change tells apart which of the rows that a document had go, and which of those that it has now come, in place of
// others or not: the rest stays as it is.
func (d *docRows) change(now []emitted) (removed, added []emitted) {
	if len(d.values) == 0 || len(now) == 0 {
		return d.rows, now
	}
	var places map[string]int
	place := func(i int) (int, bool) {
		if i < len(d.rows) && bytes.Equal(d.rows[i].position, now[i].position) {
			return i, true // mostly
		}
		if places == nil {
			places = make(map[string]int, len(d.rows))
			for j := range d.rows {
				places[string(d.rows[j].position)] = j
			}
		}
		j, ok := places[string(now[i].position)]
		return j, ok
	}
	stays := make([]bool, len(d.rows))
	var digest []byte
	for i := range now {
		if j, ok := place(i); ok && bytes.Equal(d.rows[j].key, now[i].key) {
			digest = appendDigest(digest[:0], now[i].value)
			if stays[j] = bytes.Equal(d.values[j], digest); stays[j] {
				continue
			}
		}
		added = append(added, now[i])
	}
	for j := range d.rows {
		if !stays[j] {
			removed = append(removed, d.rows[j])
		}
	}
	return removed, added
}

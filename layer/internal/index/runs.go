package index

import (
	"bytes"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Runs restores, in a descending query, the order of rows that one document emitted with one key. As in CouchDB, where
// they are one entry of the tree, these rows come in the order of their values in both directions. For each row of such
// a run, a reader going backwards gets its mirror image within the run, so that positions in the answer are still
// positions in the store.
type Runs struct {
	R    kv.Reader
	Head int // length of a key before the sort key
	// Anywhere reports that the next row may be in the middle of its run, because the rows before it in reading order
	// were left out.
	Anywhere bool

	stem []byte // key prefix of the current run or single row
	rows []kv.KeyValue
}

// At returns the row to return in place of row. It is valid until the next call, and at most as long as row.
func (s *Runs) At(row kv.KeyValue) (kv.KeyValue, error) {
	rest := row.Key[s.Head:]
	for range 2 { // skip the sort key and the document id
		var err error
		if rest, err = tuple.Skip(rest); err != nil {
			return row, db.Corrupt("view row", err)
		}
	}
	number, _, err := tuple.TakeInt(rest)
	if err != nil {
		return row, db.Corrupt("view row", err)
	}
	stem := row.Key[:len(row.Key)-len(rest)]
	if s.Anywhere || number > 0 && !bytes.Equal(stem, s.stem) {
		if err := s.load(stem); err != nil {
			return row, err
		}
	}
	s.Anywhere = false
	if !bytes.Equal(stem, s.stem) {
		return row, nil // a run of one row
	}
	if mirrored := len(s.rows) - 1 - int(number); mirrored >= 0 && mirrored < len(s.rows) {
		return s.rows[mirrored], nil
	}
	return row, nil
}

// load reads a run. Its size is limited to what one document may emit.
func (s *Runs) load(stem []byte) error {
	s.stem, s.rows = append(s.stem[:0], stem...), s.rows[:0]
	begin, end := tuple.Range(s.stem)
	it := s.R.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		s.rows = append(s.rows, kv.KeyValue{Key: slices.Clone(row.Key), Value: slices.Clone(row.Value)})
	}
	return it.Err()
}

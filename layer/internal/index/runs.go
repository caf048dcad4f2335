package index

import (
	"bytes"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Runs turns around, in a descending query, what one document has emitted for one key: such rows come in the order of
// their values in either direction, as in CouchDB, where they are one entry of the tree. Whoever reads rows backwards
// gets for each row of a run the one that mirrors it, so that places in the answer are places in the store all the
// same.
type Runs struct {
	R    kv.Reader
	Head int // bytes of a key before the sort key
	// Anywhere says that the next row may be in the midst of its run: the rows behind it were left out.
	Anywhere bool

	stem []byte // of the keys of the run under way, or of a single row
	rows []kv.KeyValue
}

// At is the row to show in the place of another one. Valid until the next call, or as long as the other one.
func (s *Runs) At(row kv.KeyValue) (kv.KeyValue, error) {
	rest := row.Key[s.Head:]
	for range 2 { // the sort key and the document's id
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
		return row, nil // alone
	}
	if mirrored := len(s.rows) - 1 - int(number); mirrored >= 0 && mirrored < len(s.rows) {
		return s.rows[mirrored], nil
	}
	return row, nil
}

// load reads a run, which is within what one document may emit.
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

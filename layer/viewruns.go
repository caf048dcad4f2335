package layer

import (
	"bytes"
	"slices"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// runs turns around, in a descending query, what one document has emitted for one key: such rows come in the order of their values in either direction, as in
// CouchDB, where they are one entry of the tree. Whoever reads rows backwards gets for each row of a run the one that mirrors it, so that places in the answer are
// places in the store all the same.
type runs struct {
	r    kv.Reader
	head int // bytes of a key before the sort key
	// anywhere says that the next row may be in the midst of its run: the rows behind it were left out.
	anywhere bool

	stem []byte // of the keys of the run under way, or of a single row
	rows []kv.KeyValue
}

// at is the row to show in the place of another one. Valid until the next call, or as long as the other one.
func (s *runs) at(row kv.KeyValue) (kv.KeyValue, error) {
	rest := row.Key[s.head:]
	for range 2 { // the sort key and the document's id
		var err error
		if rest, err = tuple.Skip(rest); err != nil {
			return row, corrupt("view row", err)
		}
	}
	number, _, err := tuple.TakeInt(rest)
	if err != nil {
		return row, corrupt("view row", err)
	}
	stem := row.Key[:len(row.Key)-len(rest)]
	if s.anywhere || number > 0 && !bytes.Equal(stem, s.stem) {
		if err := s.load(stem); err != nil {
			return row, err
		}
	}
	s.anywhere = false
	if !bytes.Equal(stem, s.stem) {
		return row, nil // alone
	}
	if mirrored := len(s.rows) - 1 - int(number); mirrored >= 0 && mirrored < len(s.rows) {
		return s.rows[mirrored], nil
	}
	return row, nil
}

// load reads a run, which is within what one document may emit.
func (s *runs) load(stem []byte) error {
	s.stem, s.rows = append(s.stem[:0], stem...), s.rows[:0]
	begin, end := tuple.Range(s.stem)
	it := s.r.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		s.rows = append(s.rows, kv.KeyValue{Key: slices.Clone(row.Key), Value: slices.Clone(row.Value)})
	}
	return it.Err()
}

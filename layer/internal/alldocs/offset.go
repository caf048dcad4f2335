package alldocs

import (
	"cmp"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

const (
	// pieceDocs is how many keys are counted in each direction, and also the size of ranges with counters when they are
	// made. Reading a key takes a fraction of a microsecond. Lists of more than mostPieces times as many documents have
	// larger ranges.
	pieceDocs  = 1000
	mostPieces = 400
	// mostRanges is the largest number of ranges. Removed documents leave small ones behind, which are merged then.
	mostRanges = 1000
)

// State is the package's state in a store.
type State struct {
	// Piece replaces pieceDocs in tests, unless it is 0.
	Piece int64
	// DivideTime replaces divideTime in tests, unless it is 0.
	DivideTime time.Duration

	dividing divisions
}

// Slot holds the State.
var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// most returns how many keys are counted in each direction in a list of total documents.
func (s *State) most(total int64) int64 { return max(cmp.Or(s.Piece, pieceDocs), total/mostPieces) }

// offset returns how many rows come before the first one, as CouchDB counts them: the rows before its range, in the
// direction of the request, and the rows that it skips. It returns -1 if it would have to read too many keys, and then
// sets crowded if a division of the list would help.
func (a *AllDocs) offset(total int64) (n int64, err error) {
	if a.O.Start == nil {
		return min(int64(a.O.Skip), total), nil
	}
	most, prefix := StateOf(a.S.D.Store).most(total), a.S.Keys.Sub(nil, keyspace.AllDocs)
	before := db.PrefixRange(prefix)
	from := db.IdRange(prefix, db.IdBounds{Start: a.O.Start, Descending: a.O.Descending})
	switch {
	case total <= 2*most:
		if a.O.Only == db.DesignOnly {
			before = designs(prefix)
		}
		if a.O.Descending {
			before.Begin = maxKey(before.Begin, from.End)
		} else {
			before.End = minKey(before.End, from.Begin)
		}
		n, err = a.count(before)
	case a.O.Only != db.Everything:
		return -1, nil
	case a.O.Descending:
		if n, err = a.rank(*a.O.Start, from.End, total, most); n >= 0 {
			n = total - n
		}
	default:
		n, err = a.rank(*a.O.Start, from.Begin, total, most)
	}
	if n < 0 || err != nil {
		return -1, err
	}
	return min(n+int64(a.O.Skip), total), nil
}

// rank returns how many keys of a list of total ones are before a key, which is that of an id or just after it, or -1.
func (a *AllDocs) rank(id string, key []byte, total, most int64) (int64, error) {
	counts, err := db.ReadDocCounts(a.S.R, a.S.Keys, a.S.Cfg, total)
	if err != nil {
		return -1, err
	}
	low, high := counts.Around(a.S.Cfg.DocRangeOf(id))
	n, err := a.countUpTo(kv.KeyRange{Begin: counts.Key(low), End: key}, most)
	if err != nil || n <= most {
		return counts.Before(low) + n, err
	}
	n, err = a.countUpTo(kv.KeyRange{Begin: key, End: counts.Key(high)}, most)
	if err != nil || n <= most {
		return counts.Before(high) - n, err
	}
	a.crowded = true
	return -1, nil
}

// count returns the number of rows in a range.
func (a *AllDocs) count(r kv.KeyRange) (int64, error) { return countRows(a.S.R, r, 0) }

// countUpTo returns the number of rows in a range, or more than most if there are more.
func (a *AllDocs) countUpTo(r kv.KeyRange, most int64) (int64, error) {
	return countRows(a.S.R, r, int(most)+1)
}

func countRows(r kv.Reader, in kv.KeyRange, limit int) (n int64, err error) {
	if string(in.Begin) >= string(in.End) {
		return 0, nil
	}
	rows := r.GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll, Limit: limit})
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// Package walk finds the first rows of an order in a view that is sorted in another one. It reads the view where these
// rows are likely to be, and then only the ranges that may have rows which come before those found.
package walk

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// Walk returns the rows of a view that may be among the first of a bounded sort, and some more.
type Walk struct {
	// Input returns the rows that Scan reads: its column Key is the first sort key, its last one the value in the view
	// that this key is computed from. Nulls, which may be nil, checks the rows before Input.
	Input exec.Plan
	Key   int
	Scan  *exec.Scan
	Nulls *shortcut.Nulls
	// Reads returns the read of the rows whose value lies in some intervals, and of some others.
	Reads func(set ranges.Intervals, desc bool) []exec.Access
	// Sort sorts the rows of the walk.
	Sort *exec.Sort
	// All are the values whose rows are read in any case, Some those of which only the first are looked for.
	All, Some ranges.Intervals
	// Preceding returns intervals with all values of Some whose sort key is not after one. What lies wholly before from
	// in the direction of the walk may be left out, unless from is Null.
	Preceding func(key, from types.Datum) ranges.Intervals
	Desc      bool // the order of the first key, and the direction of the walk
	// NullsFirst reports that rows whose first key is NULL come first, else they come last.
	NullsFirst bool
	// ByID is set if rows with equal values are sorted by the id of the document alone.
	ByID bool
	// Whole is set if all rows of the result are in the view. If not, all others have NULL as their first key and come
	// last, and the walk fails with shortcut.ErrInexact if it has not found enough rows before them.
	Whole bool

	outer    *exec.Env
	unseen   ranges.Intervals
	all      bool // All is read next, or is being read
	reading  ranges.Intervals
	open     bool
	last     types.Datum // the value of the last row of the current read; Null before the first one
	ties     int         // rows with that value before the last one
	rows     int64       // of the current read
	check    int64       // after how many of them it is looked what is left
	reads    int
	returned int64
}

const (
	// maxReads is the number of reads after which all the rest is read at once.
	maxReads = 30
	// manyTies is the number of rows with one value after which a read that ends and begins anew is faster.
	manyTies = 16
)

// Open implements exec.Plan.
func (w *Walk) Open(outer *exec.Env) error {
	w.outer, w.unseen, w.all, w.open = outer, w.Some, len(w.All) > 0, false
	w.reads, w.returned = 0, 0
	return nil
}

// Next implements exec.Plan.
func (w *Walk) Next() ([]types.Datum, error) {
	for {
		if !w.open {
			if err := w.begin(); err != nil {
				return nil, err
			}
		}
		row, err := w.next()
		if row != nil || err != nil {
			return row, err
		}
	}
}

// begin begins the next read. It returns io.EOF if no row that is left can be among the first.
func (w *Walk) begin() error {
	set := w.All
	if !w.all {
		if set = w.want(); len(set) == 0 {
			return w.end()
		}
		if w.reads++; w.reads > maxReads {
			set = w.unseen.Hull()
		}
	}
	w.reading = set
	w.Scan.Accesses = w.Reads(set, w.Desc && !w.all)
	w.open, w.last, w.ties, w.rows, w.check = true, types.Null, 0, 0, max(w.Sort.Bound, manyTies)
	return w.Input.Open(w.outer)
}

// want returns the intervals in which rows are missing that may be among the first.
func (w *Walk) want() ranges.Intervals {
	last, _ := w.Sort.Last()
	switch {
	case last == nil:
		return w.unseen
	case !last[w.Key].IsNull():
		return w.Preceding(last[w.Key], w.from()).Intersect(w.unseen)
	case w.NullsFirst:
		return nil
	}
	return w.unseen
}

// end ends the walk.
func (w *Walk) end() error {
	if last, _ := w.Sort.Last(); !w.Whole && (last == nil || last[w.Key].IsNull()) {
		return shortcut.ErrInexact
	}
	return io.EOF
}

// from returns the end of what is not seen yet; Null if it has none.
func (w *Walk) from() types.Datum {
	if len(w.unseen) == 0 {
		return types.Null
	}
	end := w.unseen[0].Low
	if w.Desc {
		end = w.unseen[len(w.unseen)-1].High
	}
	if end.Inf {
		return types.Null
	}
	return end.Val
}

// next returns the next row of the current read, nil after its end.
func (w *Walk) next() ([]types.Datum, error) {
	_, passed := w.Sort.Last()
	for {
		row, err := w.Input.Next()
		if errors.Is(err, io.EOF) {
			return nil, w.stop(true)
		}
		if err != nil {
			return nil, err
		}
		value := row[len(row)-1]
		if !w.reading.Contain(value) {
			continue // reads include the ends of an interval
		}
		if !w.all {
			if ok, err := w.goesOn(value, passed); !ok || err != nil {
				return nil, err
			}
		}
		w.rows++
		w.returned++
		return row, nil
	}
}

// goesOn looks at the value of the next row. It ends the current read and returns false if that row and those after it
// are not wanted, or are not known to be. passed reports that the row before is not among the first.
func (w *Walk) goesOn(value types.Datum, passed bool) (bool, error) {
	same := !w.last.IsNull() && ranges.Intervals{ranges.Point(w.last)}.Contain(value)
	switch {
	case same:
		if w.ties++; passed && w.ByID && w.ties >= manyTies {
			return false, w.stop(false) // the others with this value would not be among the first either
		}
		return true, nil
	case w.rows >= w.check:
		w.seen()
		if !w.want().Contain(value) {
			return false, w.stop(false)
		}
		w.check *= 2
	}
	w.last, w.ties = value.Own(), 0
	return true, nil
}

// seen records that the current read has returned all rows up to the last value that matter.
func (w *Walk) seen() {
	upto := ranges.Between(ranges.None, ranges.Limit{Val: w.last})
	if w.Desc {
		upto.Low, upto.High = upto.High, upto.Low
	}
	w.hasSeen(w.reading.Intersect(ranges.Intervals{upto}))
}

func (w *Walk) hasSeen(set ranges.Intervals) {
	for _, iv := range set {
		w.unseen = w.unseen.Without(iv)
	}
}

// stop ends the current read, at its end or after the last value.
func (w *Walk) stop(whole bool) error {
	if !whole && w.Nulls != nil {
		if err := w.Nulls.Settle(); err != nil {
			return err
		}
	}
	w.Input.Close()
	w.open = false
	switch {
	case w.all:
		w.all = false
	case whole:
		w.hasSeen(w.reading)
	default:
		w.seen()
	}
	return nil
}

// Close implements exec.Plan.
func (w *Walk) Close() {
	w.Input.Close()
	w.open = false
}

// Describe implements exec.Plan.
func (w *Walk) Describe() *exec.Description {
	d := &exec.Description{Node: "Index Walk", Rows: w.returned, Examined: -1}
	if w.reads > 0 {
		d.Add("Reads", int64(w.reads))
	}
	w.Scan.Accesses = w.Reads(w.Some.Hull(), w.Desc)
	d.Children = append(d.Children, w.Input.Describe())
	return d
}

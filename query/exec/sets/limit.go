package sets

import (
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// Limit skips rows and ends early.
type Limit struct {
	Input       exec.Plan
	Skip, Count int64 // Count < 0 means no limit
	// Ties are the keys by which the rows are sorted if those that equal the last one are returned too (WITH TIES).
	Ties []exec.SortKey
	// Of computes Count and Skip when the plan is opened, if they depend on the enclosing queries.
	Of      func(env *exec.Env) (count, skip int64, err error)
	st      *exec.State
	last    []types.Datum
	held    int64 // by last
	skipped int64
	rows    int64
	runs    tally.Runs
	done    bool
}

// Open implements exec.Plan.
func (l *Limit) Open(outer *exec.Env) error {
	l.reset()
	l.st, l.skipped, l.done = outer.State, 0, false
	l.runs.Begin(&l.rows)
	if l.Of != nil {
		var err error
		if l.Count, l.Skip, err = l.Of(&exec.Env{State: outer.State, Outer: outer}); err != nil {
			return err
		}
	}
	return l.Input.Open(outer)
}

func (l *Limit) reset() {
	if l.st != nil {
		l.st.Release(l.held)
	}
	l.last, l.held = nil, 0
}

// Next implements exec.Plan.
func (l *Limit) Next() ([]types.Datum, error) {
	if l.done || l.Count >= 0 && l.rows >= l.Count && l.last == nil {
		return nil, io.EOF
	}
	for {
		row, err := l.Input.Next()
		if err != nil {
			return nil, err
		}
		if l.skipped < l.Skip {
			l.skipped++
			continue // the input counts its steps
		}
		if l.last != nil {
			var fail error
			if l.done = l.st.CompareRows(l.last, row, l.Ties, &fail) != 0; fail != nil {
				return nil, fail
			} else if l.done {
				return nil, io.EOF
			}
		}
		l.rows++
		if l.rows == l.Count && l.Ties != nil {
			size := exec.RowSize(row)
			if err := l.st.Hold(size); err != nil {
				return nil, err
			}
			l.last, l.held = types.Own(row), size
		}
		return row, nil
	}
}

// Close implements exec.Plan.
func (l *Limit) Close() {
	l.reset()
	l.Input.Close()
}

// Describe implements exec.Plan.
func (l *Limit) Describe() *exec.Description {
	d := &exec.Description{Node: "Limit", Examined: -1, Children: []*exec.Description{l.Input.Describe()}}
	d.Rows, d.Loops = l.runs.Total(l.rows)
	if l.Count >= 0 {
		d.Add("Limit", l.Count)
	}
	if l.Skip > 0 {
		d.Add("Offset", l.Skip)
	}
	if l.Ties != nil {
		d.Add("With Ties", true)
	}
	return d
}

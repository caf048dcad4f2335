package sets

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// Recursive is WITH RECURSIVE: the first query's rows, then the second query over the rows of the last round, until a
// round returns none.
type Recursive struct {
	First, Step exec.Plan
	Work        *exec.WorkTable
	// Distinct drops duplicate rows (UNION without ALL).
	Distinct bool
	outer    *exec.Env
	seen     *spill.Set
	round    exec.Plan
	next     *spill.List // the rows of this round, input of the next
	rows     int64
	runs     tally.Runs
	disk     int64
	buf      []byte
}

func (r *Recursive) Open(outer *exec.Env) error {
	r.free()
	r.outer, r.round, r.next = outer, r.First, nil
	r.runs.Begin(&r.rows)
	if r.Distinct {
		r.seen = outer.Spill.NewSet()
	}
	return r.First.Open(outer)
}

func (r *Recursive) Next() ([]types.Datum, error) {
	for {
		row, err := r.round.Next()
		if errors.Is(err, io.EOF) {
			r.round.Close()
			if r.next.Len() == 0 {
				return nil, io.EOF
			}
			r.disk += r.next.Disk()
			r.outer.SetWork(r.Work, r.next)
			r.next, r.round = nil, r.Step
			if err := r.round.Open(r.outer); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.outer.Step(1); err != nil {
			return nil, err
		}
		if fresh, err := r.fresh(row); err != nil {
			return nil, err
		} else if !fresh {
			continue
		}
		if r.next == nil {
			r.next = r.outer.Spill.NewList(len(row))
		}
		if err := r.next.Append(row); err != nil {
			return nil, err
		}
		r.rows++
		return row, nil
	}
}

// fresh reports whether a row is not a duplicate, if Distinct is set.
func (r *Recursive) fresh(row []types.Datum) (bool, error) {
	if !r.Distinct {
		return true, nil
	}
	var err error
	if r.buf, err = rowKey(r.outer.State, r.buf[:0], row); err != nil {
		return false, err
	}
	return r.seen.Add(r.buf)
}

func (r *Recursive) free() {
	if r.outer != nil {
		r.disk += r.seen.Disk()
		r.seen.Free()
		r.outer.SetWork(r.Work, nil)
		r.next.Free()
	}
	r.seen, r.next = nil, nil
}

// Close implements exec.Plan.
func (r *Recursive) Close() {
	r.First.Close()
	r.Step.Close()
	r.free()
}

// Describe implements exec.Plan.
func (r *Recursive) Describe() *exec.Description {
	d := &exec.Description{Node: "Recursive Union", Examined: -1,
		Children: []*exec.Description{r.First.Describe(), r.Step.Describe()}}
	d.Rows, d.Loops = r.runs.Total(r.rows)
	d.Disk(r.disk + r.seen.Disk())
	return d
}

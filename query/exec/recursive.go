package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// WorkTable identifies the rows of a recursive query's last round. The rows themselves are in the State.
type WorkTable struct{ Name string }

// Recursive is WITH RECURSIVE: the first query's rows, then the second query over the rows of the last round, until a
// round returns none.
type Recursive struct {
	First, Step Plan
	Work        *WorkTable
	// Distinct drops duplicate rows (UNION without ALL).
	Distinct bool
	outer    *Env
	seen     *spill.Set
	round    Plan
	next     *spill.List // the rows of this round, input of the next
	rows     int64
	disk     int64
	buf      []byte
}

func (r *Recursive) Open(outer *Env) error {
	r.free()
	r.outer, r.round, r.next = outer, r.First, nil
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
			if r.outer.rounds == nil {
				r.outer.State.rounds = map[*WorkTable]*spill.List{}
			}
			r.disk += r.next.Disk()
			r.outer.rounds[r.Work].Free()
			r.outer.rounds[r.Work], r.next = r.next, nil
			r.round = r.Step
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
	r.buf = r.buf[:0]
	for _, d := range row {
		var err error
		if r.buf, err = r.outer.Hash(r.buf, d); err != nil {
			return false, err
		}
	}
	return r.seen.Add(r.buf)
}

func (r *Recursive) free() {
	if r.outer != nil {
		r.disk += r.seen.Disk()
		r.seen.Free()
		r.outer.rounds[r.Work].Free()
		r.next.Free()
		delete(r.outer.rounds, r.Work)
	}
	r.seen, r.next = nil, nil
}

// Close implements Plan.
func (r *Recursive) Close() {
	r.First.Close()
	r.Step.Close()
	r.free()
}

// Describe implements Plan.
func (r *Recursive) Describe() *Description {
	d := &Description{Node: "Recursive Union", Rows: r.rows, Examined: -1,
		Children: []*Description{r.First.Describe(), r.Step.Describe()}}
	d.Disk(r.disk + r.seen.Disk())
	return d
}

// WorkScan reads the rows of the last round.
type WorkScan struct {
	Work        *WorkTable
	Base, Width int
	env         *Env
	scan        *spill.Scan
}

func (w *WorkScan) Open(env *Env) error {
	w.scan.Close()
	w.env, w.scan = env, env.rounds[w.Work].Scan()
	return nil
}

func (w *WorkScan) Next() (bool, error) {
	row, err := w.scan.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	copy(w.env.Row[w.Base:w.Base+w.Width], row)
	return true, w.env.Step(1)
}

// Close implements Source.
func (w *WorkScan) Close() { w.scan.Close() }

// Describe implements Source.
func (w *WorkScan) Describe() *Description {
	return &Description{Node: "WorkTable Scan on " + w.Work.Name, Rows: w.scan.At(), Examined: -1}
}

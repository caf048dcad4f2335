package joins

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/work"
)

// Ahead reads rows of its input ahead and collects the ids and keys that sub-queries and lateral items will look for in
// each of them, so that a ByKey can read them together.
type Ahead struct {
	Input exec.Source
	// Columns are the columns that Input fills.
	Columns []exec.Range
	Wants   []Want

	env     *exec.Env
	rows    *spill.List
	scan    *spill.Scan
	n       int64 // rows to be read ahead
	ended   bool
	scratch work.Scratch
}

// Want is what the rows look for in a relation.
type Want struct {
	Relation any       // of ByKey
	Key      exec.Expr // over the row of Input
}

// The first rows of a query are few, because it may end early.
const (
	firstAhead = 16
	moreAhead  = 4
)

// Open implements exec.Source.
func (a *Ahead) Open(env *exec.Env) error {
	a.end()
	a.env, a.n, a.ended = env, firstAhead, false
	return a.Input.Open(env)
}

// Next implements exec.Source.
func (a *Ahead) Next() (bool, error) {
	for {
		if a.scan != nil {
			row, err := a.scan.Next()
			if err == nil {
				restore(a.env, a.Columns, row)
				return true, nil
			}
			if !errors.Is(err, io.EOF) {
				return false, err
			}
		}
		if a.ended {
			return false, nil
		}
		if err := a.fill(); err != nil {
			return false, err
		}
	}
}

// fill reads the next rows.
func (a *Ahead) fill() error {
	a.end()
	width := 0
	for _, c := range a.Columns {
		width += c.To - c.From
	}
	a.rows = a.env.Spill.NewList(width)
	batches := make([]*exec.Batch, len(a.Wants))
	for i, w := range a.Wants {
		batches[i] = a.env.NewBatch(w.Relation)
	}
	var row = make([]datum, 0, width)
	for a.rows.Len() < a.n {
		ok, err := a.Input.Next()
		if err != nil {
			return err
		}
		if !ok {
			a.ended = true
			break
		}
		row = row[:0]
		for _, c := range a.Columns {
			row = append(row, a.env.Row[c.From:c.To]...)
		}
		if err := a.rows.Append(row); err != nil {
			return err
		}
		around := a.env.Enter(&a.scratch)
		for i, w := range a.Wants {
			// The row may never be looked up, so an error is not one yet.
			if d, err := w.Key.Eval(a.env); err == nil {
				_ = batches[i].Keys.Add(a.env, d)
			}
		}
		a.env.Leave(around)
		if err := a.env.Ctx.Err(); err != nil {
			return a.env.Step(1 << 10)
		}
	}
	a.n = min(a.n*moreAhead, exec.MaxKeys)
	a.scan = a.rows.Scan()
	return nil
}

// end releases the rows that were read ahead.
func (a *Ahead) end() {
	if a.env == nil {
		return
	}
	for _, w := range a.Wants {
		a.env.EndBatch(w.Relation)
	}
	a.scan.Close()
	a.rows.Free()
	a.env.Drop(&a.scratch)
	a.rows, a.scan = nil, nil
}

// Close implements exec.Source.
func (a *Ahead) Close() {
	a.Input.Close()
	a.end()
}

// Describe implements exec.Source.
func (a *Ahead) Describe() *exec.Description { return a.Input.Describe() }

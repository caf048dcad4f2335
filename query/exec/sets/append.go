package sets

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// Append is UNION ALL.
type Append struct {
	Inputs []exec.Plan
	outer  *exec.Env
	at     int
	rows   int64
	runs   tally.Runs
}

func (a *Append) Open(outer *exec.Env) error {
	a.outer, a.at = outer, -1
	a.runs.Begin(&a.rows)
	return nil
}

func (a *Append) Next() ([]types.Datum, error) {
	for {
		if a.at >= 0 {
			row, err := a.Inputs[a.at].Next()
			if err == nil {
				a.rows++
			}
			if !errors.Is(err, io.EOF) {
				return row, err
			}
			a.Inputs[a.at].Close()
		}
		if a.at+1 >= len(a.Inputs) {
			a.at = len(a.Inputs) - 1
			return nil, io.EOF
		}
		a.at++
		if err := a.Inputs[a.at].Open(a.outer); err != nil {
			return nil, err
		}
	}
}

func (a *Append) Close() {
	for _, in := range a.Inputs {
		in.Close()
	}
}

func (a *Append) Describe() *exec.Description {
	d := &exec.Description{Node: "Append", Examined: -1}
	d.Rows, d.Loops = a.runs.Total(a.rows)
	for _, in := range a.Inputs {
		d.Children = append(d.Children, in.Describe())
	}
	return d
}

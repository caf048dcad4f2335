package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
)

// WorkTable identifies the rows of a recursive query's last round. The rows themselves are in the State.
type WorkTable struct{ Name string }

// WorkScan reads the rows of the last round.
type WorkScan struct {
	Work        *WorkTable
	Base, Width int
	env         *Env
	scan        *spill.Scan
	got         int64
	runs        tally.Runs
}

func (w *WorkScan) Open(env *Env) error {
	w.scan.Close()
	w.env, w.scan = env, env.rounds[w.Work].Scan()
	w.runs.Begin(&w.got)
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
	w.got++
	return true, w.env.Step(1)
}

// Close implements Source.
func (w *WorkScan) Close() { w.scan.Close() }

// Describe implements Source.
func (w *WorkScan) Describe() *Description {
	d := &Description{Node: "WorkTable Scan", On: w.Work.Name, Examined: -1}
	d.Rows, d.Loops = w.runs.Total(w.got)
	return d
}

package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec/spill"
)

// WorkTable identifies the rows of a recursive query's last round. The rows themselves are in the State.
type WorkTable struct{ Name string }

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

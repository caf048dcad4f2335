package shortcut

import "github.com/divandb/divan/query/exec"

// Enough passes the rows of a source on. It fails with ErrInexact if there are fewer than Rows: the result may then
// have further rows, which the source lacks.
type Enough struct {
	Input exec.Source
	Rows  int64
	got   int64
}

// Open implements exec.Source.
func (e *Enough) Open(env *exec.Env) error {
	e.got = 0
	return e.Input.Open(env)
}

// Next implements exec.Source.
func (e *Enough) Next() (bool, error) {
	ok, err := e.Input.Next()
	switch {
	case err != nil:
		return false, err
	case ok:
		e.got++
	case e.got < e.Rows:
		return false, ErrInexact
	}
	return ok, nil
}

// Close implements exec.Source.
func (e *Enough) Close() { e.Input.Close() }

// Describe implements exec.Source.
func (e *Enough) Describe() *exec.Description { return e.Input.Describe() }

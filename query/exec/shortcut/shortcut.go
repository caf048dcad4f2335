// Package shortcut has the steps of plans that compute aggregates without reading all rows: from the first row of a
// range, and from what a store has counted and reduced. The reads themselves are in package exec.
package shortcut

import (
	"cmp"
	"errors"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// First is the first row of a source, if it has any.
type First struct {
	Input exec.Source
	done  bool
}

// Open implements exec.Source.
func (f *First) Open(env *exec.Env) error {
	f.done = false
	return f.Input.Open(env)
}

// Next implements exec.Source.
func (f *First) Next() (bool, error) {
	if f.done {
		return false, nil
	}
	f.done = true
	return f.Input.Next()
}

// Close implements exec.Source.
func (f *First) Close() { f.Input.Close() }

// Describe implements exec.Source.
func (f *First) Describe() *exec.Description { return f.Input.Describe() }

// Apart is one row of aggregates without groups, each of which has a source of its own: one row with one column.
type Apart struct {
	Inputs []exec.Source
	env    *exec.Env
	done   bool
	rows   int64
}

// Open implements exec.Source.
func (a *Apart) Open(env *exec.Env) error {
	a.env, a.done = env, false
	return nil
}

// Next implements exec.Source.
func (a *Apart) Next() (bool, error) {
	if a.done {
		return false, nil
	}
	a.done = true
	for i, in := range a.Inputs {
		one := &exec.Env{Row: make([]types.Datum, 1), Outer: a.env.Outer, State: a.env.State}
		if err := in.Open(one); err != nil {
			return false, err
		}
		if _, err := in.Next(); err != nil {
			return false, err
		}
		a.env.Row[i] = one.Row[0].Own()
		in.Close()
	}
	a.rows++
	return true, nil
}

// Close implements exec.Source.
func (a *Apart) Close() {
	for _, in := range a.Inputs {
		in.Close()
	}
}

// Describe implements exec.Source.
func (a *Apart) Describe() *exec.Description {
	d := &exec.Description{Node: "Result", Rows: a.rows, Examined: -1}
	for _, in := range a.Inputs {
		d.Children = append(d.Children, in.Describe())
	}
	return d
}

// ErrInexact ends a read of reductions that do not give the exact result.
var ErrInexact = errors.New("the view's reduction, which is not exact for these values")

// errMany ends a read of groups if it is faster to read the rows.
var errMany = errors.New("the view's reduction, which has too many groups")

// Exact passes the rows of a source on as long as a function accepts them.
type Exact struct {
	Input exec.Source
	OK    func(row []types.Datum) bool
	// Unsure reports that only Check can tell whether a row is exact; nil if none is. Check is read to its end after
	// such rows, before the end of the rows. It writes the columns of Input.
	Unsure func(row []types.Datum) bool
	Check  exec.Source
	// Still is asked after the last row whether what the plan relies on is still so; nil if it relies on nothing. No
	// result may have been returned before.
	Still func() (bool, error)
	// Most returns how many rows may be read before it is faster to do without the source; nil for any number. It is
	// called if there are more than a few.
	Most func() (int64, error)

	env        *exec.Env
	unsure     bool
	rows, most int64
}

// someGroups is the number of groups for which Exact does not call Most.
const someGroups = 256

// Open implements exec.Source.
func (e *Exact) Open(env *exec.Env) error {
	e.env, e.unsure, e.rows, e.most = env, false, 0, someGroups
	return e.Input.Open(env)
}

// Next implements exec.Source.
func (e *Exact) Next() (bool, error) {
	ok, err := e.Input.Next()
	switch {
	case err != nil:
		return false, err
	case ok && !e.OK(e.env.Row):
		return false, ErrInexact
	case ok:
		if e.rows++; e.rows > e.most && e.Most != nil {
			if e.most, err = e.Most(); err != nil {
				return false, err
			}
			if e.rows > e.most {
				return false, errMany
			}
		}
		e.unsure = e.unsure || e.Unsure != nil && e.Unsure(e.env.Row)
	case e.unsure:
		e.unsure = false
		if err := e.check(); err != nil {
			return false, err
		}
	}
	if !ok && e.Still != nil {
		if still, err := e.Still(); err != nil || !still {
			return false, cmp.Or(err, ErrInexact)
		}
	}
	return ok, nil
}

func (e *Exact) check() error {
	if err := e.Check.Open(e.env); err != nil {
		return err
	}
	defer e.Check.Close()
	for {
		if ok, err := e.Check.Next(); !ok || err != nil {
			return err
		}
	}
}

// Close implements exec.Source.
func (e *Exact) Close() { e.Input.Close() }

// Describe implements exec.Source.
func (e *Exact) Describe() *exec.Description { return e.Input.Describe() }

// Either returns the rows of its first source. If that finds, before its first row, that reductions cannot answer, are
// not exact or not fast, it returns those of the second one instead.
type Either struct {
	First, Otherwise exec.Source
	env              *exec.Env
	begun, second    bool
	why              error
}

// Open implements exec.Source.
func (e *Either) Open(env *exec.Env) error {
	e.env, e.begun, e.second = env, false, false
	return e.First.Open(env)
}

// Next implements exec.Source.
func (e *Either) Next() (bool, error) {
	if e.second {
		return e.Otherwise.Next()
	}
	ok, err := e.First.Next()
	if e.begun || err == nil || !errors.Is(err, ErrInexact) && !errors.Is(err, errMany) &&
		exec.KindOf(err) != exec.Irreducible {
		e.begun = true
		return ok, err
	}
	e.First.Close()
	if e.second, e.why = true, ErrInexact; errors.Is(err, errMany) {
		e.why = errMany
	}
	if err := e.Otherwise.Open(e.env); err != nil {
		return false, err
	}
	return e.Otherwise.Next()
}

// Close implements exec.Source.
func (e *Either) Close() {
	e.First.Close()
	if e.second {
		e.Otherwise.Close()
	}
}

// Describe implements exec.Source. After the run it describes the source that has returned the rows.
func (e *Either) Describe() *exec.Description {
	if !e.second {
		return e.First.Describe()
	}
	d := e.Otherwise.Describe()
	d.Add("Instead of", e.why.Error())
	return d
}

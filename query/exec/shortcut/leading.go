package shortcut

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Leading returns the ids of documents among which are the first N of an order by a JSON value: the first rows of a
// view in that order, those with the same value as the last one, as a view rounds numbers, and all that are null in the
// view, as a missing member and a number beyond the doubles are null there too. It fails with ErrInexact if these are
// more than Most, or if a list or an object is one of them: views may sort these otherwise.
type Leading struct {
	// Rows returns the rows in order, with the columns id and value. Nulls returns those that are null, and is read
	// first. Each is nil for none.
	Rows, Nulls exec.Plan
	// Settle, if not nil, is called if not all Rows are read.
	Settle  func() error
	N, Most int64
	// Whole is set if the view has all documents of the result. If not, the others come last.
	Whole bool

	outer *exec.Env
	begun bool
	ids   []types.Datum
	next  int
}

// Open implements exec.Plan.
func (l *Leading) Open(outer *exec.Env) error {
	l.outer, l.begun, l.ids, l.next = outer, false, nil, 0
	return nil
}

// Next implements exec.Plan.
func (l *Leading) Next() ([]types.Datum, error) {
	if !l.begun {
		l.begun = true
		if err := l.collect(); err != nil {
			return nil, err
		}
	}
	if l.next == len(l.ids) {
		return nil, io.EOF
	}
	l.next++
	return l.ids[l.next-1 : l.next], nil
}

func (l *Leading) collect() error {
	err := l.each(l.Nulls, func(types.Datum) (step, error) { return take, nil })
	if err != nil {
		return err
	}
	var last types.Datum
	n := int64(0)
	err = l.each(l.Rows, func(value types.Datum) (step, error) {
		switch k := types.JSONKindOf(value.S); k {
		case types.JSONNull:
			return skip, nil // reads include the ends of an interval
		case types.JSONList, types.JSONObject:
			return end, ErrInexact
		}
		if n >= l.N {
			if c, err := types.CompareJSON(last.S, value.S); c != 0 || err != nil {
				return end, err
			}
		}
		n++
		last = value.Own()
		return take, nil
	})
	if err == nil && !l.Whole && n < l.N {
		err = ErrInexact
	}
	// Of equal rows, the first documents come first, as without a view.
	slices.SortFunc(l.ids, func(a, b types.Datum) int { return strings.Compare(a.S, b.S) })
	return err
}

// step is what is done with a row.
type step uint8

const (
	take step = iota
	skip
	end
)

// each collects the ids of rows.
func (l *Leading) each(rows exec.Plan, what func(value types.Datum) (step, error)) error {
	if rows == nil {
		return nil
	}
	defer rows.Close()
	if err := rows.Open(l.outer); err != nil {
		return err
	}
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do, err := what(row[1])
		switch {
		case err != nil:
			return err
		case do == skip:
			continue
		case do == end && l.Settle != nil:
			return l.Settle()
		case do == end:
			return nil
		}
		if l.ids = append(l.ids, row[0].Own()); int64(len(l.ids)) > l.Most {
			return ErrInexact
		}
	}
}

// Close implements exec.Plan.
func (l *Leading) Close() {
	for _, p := range []exec.Plan{l.Rows, l.Nulls} {
		if p != nil {
			p.Close()
		}
	}
}

// Describe implements exec.Plan.
func (l *Leading) Describe() *exec.Description {
	d := &exec.Description{Node: "Index Walk", Rows: int64(len(l.ids)), Examined: -1}
	for _, p := range []exec.Plan{l.Rows, l.Nulls} {
		if p != nil {
			d.Children = append(d.Children, p.Describe())
		}
	}
	return d
}

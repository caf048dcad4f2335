package plan

import (
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/writes"
	"github.com/divandb/divan/query/types"
)

// write plans a statement that writes.
func (p *planning) write(w *bind.Write) (exec.Plan, error) {
	source, err := p.build(w.Source)
	if err != nil {
		return nil, err
	}
	m := &writes.Modify{Node: strings.ToUpper(w.Kind[:1]) + w.Kind[1:] + " on " + w.Relation, Source: source,
		Work: w.ReturningWork, Width: w.Width}
	switch w.Kind {
	case "update":
		m.Kind = &writes.Update{Assigned: assigned(w)}
	case "delete":
		m.Kind = &writes.Delete{}
	default:
		m.Kind, err = p.insert(w)
	}
	if err == nil && w.Returning != nil {
		m.Returning, err = p.build(w.Returning)
	}
	return m, err
}

func (p *planning) insert(w *bind.Write) (*writes.Insert, error) {
	n := &writes.Insert{ID: w.ID, Rev: w.Rev, Doc: w.Doc, Choose: w.Choose, Casts: w.Casts, OnConflict: w.OnConflict,
		Work: w.ConflictWork, Assigned: assigned(w)}
	var err error
	if w.Conflict != nil {
		n.Conflict, err = p.build(w.Conflict)
	}
	return n, err
}

func assigned(w *bind.Write) writes.Assigned {
	return writes.Assigned{IDOff: w.IDOff, RevOff: w.RevOff}
}

// copiedRows is the plan of the rows of COPY FROM.
type copiedRows func() ([]types.Datum, error)

func (copiedRows) Open(*exec.Env) error           { return nil }
func (c copiedRows) Next() ([]types.Datum, error) { return c() }
func (copiedRows) Close()                         {}
func (copiedRows) Describe() *exec.Description    { return &exec.Description{Node: "Copy", Examined: -1} }

// CopyCheck returns a function that returns the error of a row of COPY FROM that cannot be written.
func CopyCheck(b *bind.Bound) func(row []types.Datum) error {
	w := b.Write
	return (&writes.Insert{ID: w.ID, Rev: w.Rev, Doc: w.Doc, Choose: w.Choose}).Check
}

// CopyIn plans COPY FROM. next returns its rows.
func CopyIn(b *bind.Bound, st *exec.State, next func() ([]types.Datum, error)) (exec.Plan, error) {
	st.Plans(b.Db, b.Update)
	kind, err := newPlanning(st).insert(b.Write)
	return &writes.Modify{Node: "Insert on " + b.Write.Relation, Source: copiedRows(next), Kind: kind}, err
}

package plan

import (
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/writes"
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
		m.Kind = &writes.Update{}
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
	n := &writes.Insert{ID: w.ID, Doc: w.Doc, Choose: w.Choose, Casts: w.Casts, OnConflict: w.OnConflict,
		Work: w.ConflictWork}
	var err error
	if w.Conflict != nil {
		n.Conflict, err = p.build(w.Conflict)
	}
	return n, err
}

// CopyIn plans COPY FROM, whose rows source returns.
func CopyIn(b *bind.Bound, st *exec.State, source exec.Plan) (exec.Plan, error) {
	st.Plans(b.Db, b.Update)
	kind, err := newPlanning(st).insert(b.Write)
	return &writes.Modify{Node: "Insert on " + b.Write.Relation, Source: source, Kind: kind}, err
}

package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// CTE identifies a WITH query that is computed once for all references. Its rows belong to the With that opened it.
type CTE struct{ Name string }

// CTEPlan computes a CTE.
type CTEPlan struct {
	CTE  *CTE
	Plan Plan
	// Keep is set if the rows stay valid when the enclosing query is opened again, because they do not refer to it.
	Keep bool
}

// With computes the CTEs of a query as far as the query reads their rows. Scans find it through their Envs, so that two
// plans of one bound query do not share rows.
type With struct {
	Input Plan
	List  []CTEPlan
	frame *withFrame
}

// withFrame is an open With.
type withFrame struct {
	parent *withFrame // of the same level
	ctes   map[*CTE]*cteRows
}

// cteRows holds the rows of a CTE that have been computed. Several scans read them independently.
type cteRows struct {
	plan   Plan
	env    *Env
	rows   *spill.List // nil before the first row
	opened bool
	done   bool
}

func (w *With) Open(outer *Env) error {
	old := w.frame
	// Use a copy of the enclosing level with the list added: its rows and depth stay the same.
	env := *outer
	w.frame = &withFrame{parent: outer.with, ctes: make(map[*CTE]*cteRows, len(w.List))}
	env.with = w.frame
	for _, c := range w.List {
		if old != nil && c.Keep && old.ctes[c.CTE].done {
			w.frame.ctes[c.CTE] = old.ctes[c.CTE]
			continue
		}
		if old != nil {
			old.ctes[c.CTE].free()
		}
		w.frame.ctes[c.CTE] = &cteRows{plan: c.Plan, env: &env}
	}
	return w.Input.Open(&env)
}

func (w *With) Next() ([]types.Datum, error) { return w.Input.Next() }

// Close implements Plan. Complete rows are kept for the next Open.
func (w *With) Close() {
	w.Input.Close()
	if w.frame == nil {
		return
	}
	for _, c := range w.List {
		if r := w.frame.ctes[c.CTE]; !r.done || !c.Keep {
			r.free()
		}
	}
}

func (w *With) Describe() *Description {
	d := w.Input.Describe()
	for _, c := range w.List {
		cte := Subplan{Name: "CTE " + c.CTE.Name, Plan: c.Plan.Describe()}
		if w.frame != nil {
			cte.Disk = w.frame.ctes[c.CTE].rows.Disk()
		}
		d.Inits = append(d.Inits, cte)
	}
	return d
}

// next computes one more row.
func (c *cteRows) next() ([]types.Datum, error) {
	if !c.opened {
		c.opened = true
		if err := c.plan.Open(c.env); err != nil {
			return nil, err
		}
	}
	row, err := c.plan.Next()
	if errors.Is(err, io.EOF) {
		c.done = true
		c.plan.Close()
	}
	if err != nil {
		return nil, err
	}
	if c.rows == nil {
		c.rows = c.env.Spill.NewList(len(row))
	}
	return row, c.rows.Append(row)
}

func (c *cteRows) free() {
	if c.opened && !c.done {
		c.plan.Close()
	}
	c.rows.Free()
	c.rows, c.opened, c.done = nil, false, false
}

// CTEScan reads the rows of a CTE.
type CTEScan struct {
	CTE         *CTE
	Alias       string
	Base, Width int
	env         *Env
	from        *cteRows
	scan        *spill.Scan // nil before there are rows
	got         int64
	runs        tally.Runs
}

func (s *CTEScan) Open(env *Env) error {
	s.scan.Close()
	s.env, s.scan, s.from = env, nil, nil
	s.runs.Begin(&s.got)
	for e := env; e != nil && s.from == nil; e = e.Outer {
		for f := e.with; f != nil && s.from == nil; f = f.parent {
			s.from = f.ctes[s.CTE]
		}
	}
	if s.from == nil {
		return errors.New("scan of a WITH query that is not open: " + s.CTE.Name)
	}
	return nil
}

func (s *CTEScan) Next() (bool, error) {
	if s.scan.At() >= s.from.rows.Len() {
		if s.from.done {
			return false, nil
		}
		if _, err := s.from.next(); errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	if s.scan == nil {
		s.scan = s.from.rows.Scan()
	}
	row, err := s.scan.Next()
	if err != nil {
		return false, err
	}
	copy(s.env.Row[s.Base:s.Base+s.Width], row)
	s.got++
	return true, s.env.Step(1)
}

// Close implements Source.
func (s *CTEScan) Close() { s.scan.Close() }

// Describe implements Source.
func (s *CTEScan) Describe() *Description {
	d := &Description{Node: "CTE Scan", On: s.CTE.Name, Examined: -1}
	d.Rows, d.Loops = s.runs.Total(s.got)
	if s.Alias != s.CTE.Name {
		d.Alias = s.Alias
	}
	return d
}

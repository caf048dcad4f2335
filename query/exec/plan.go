package exec

import (
	"errors"
	"io"
	"strconv"

	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Column is a column of a relation or a result.
type Column struct {
	Name string
	Type types.OID
	Mod  int32 // -1 for none
	// Fields are the columns of a record, if known.
	Fields []Column
	// Collation is the collation of a text, unless it is the default.
	Collation *types.Collation
	// Origin is the relation's column that this column shows, also through sub-queries; zero for a computed column.
	Origin Origin
}

// Origin is a column of a relation: the relation's OID, and the column's number from 1.
type Origin struct {
	Relation int64
	Column   int16
}

// Plan returns the rows of a query. It is made for one execution and may be opened several times (as a correlated
// sub-query).
type Plan interface {
	// Open begins. outer holds the columns of the enclosing queries, and the State.
	Open(outer *Env) error
	// Next returns the next row, or io.EOF. The slice is valid until the next call; the values stay valid.
	Next() ([]types.Datum, error)
	// Close ends the reads. The plan may be opened again.
	Close()
	Describe() *Description
}

// Source writes rows into the row buffer of its query. Every relation of FROM writes its own columns of env.Row, so
// that joins copy nothing and every expression of the query finds its columns at fixed places.
type Source interface {
	Open(env *Env) error
	// Next sets this source's columns of env.Row. It returns false at the end.
	Next() (bool, error)
	Close()
	Describe() *Description
}

// Range is a range of columns of env.Row.
type Range struct{ From, To int }

// Description is a node of EXPLAIN.
type Description struct {
	Node string
	// On is what the node reads, and Alias its name in the query, "" for the same.
	On, Alias string
	// Join is the kind of a join, in the words of package joins.
	Join string
	// Details lists further lines in order, such as "Filter" with its text.
	Details  []Detail
	Children []*Description
	// Rows counts the rows that the node has returned in all of its runs (known after running), and Loops the runs: 0
	// for as many as the node above, -1 for none. Examined counts the rows of a read before filters, -1 if there is no
	// read.
	Rows, Loops, Examined int64
	// Likely is how many rows a node without others below it returns, as far as it can be told before; 0 if it cannot.
	Likely int64
	// Space is what the node has kept, nil if it keeps no rows.
	Space *tally.Space
	// Exprs are the expressions that the node evaluates. EXPLAIN shows the queries in them.
	Exprs []Expr
	// Inits are plans that are run once for all rows of the node: WITH queries.
	Inits []Subplan
	// Reads are the reads of a relation of the store, Conds the conditions that rows must satisfy, and Columns the
	// types of the columns that are computed; EXPLAIN estimates rows by them.
	Reads   []Access
	Conds   []Expr
	Columns []types.OID
	// Scan is what makes the Reads. Its ranges and options are lines before Details.
	Scan *Scan
}

// Subplan is a plan that belongs to a node without returning its rows to it.
type Subplan struct {
	Name string
	Plan *Description
	Disk int64 // that its rows take
}

// Detail is a line of a node.
type Detail struct {
	Name  string
	Value any // string, bool, int64 or []string
}

func (d *Description) Add(name string, value any) { d.Details = append(d.Details, Detail{name, value}) }

// Disk adds how much has been written to temporary files, if anything.
func (d *Description) Disk(n int64) {
	if n > 0 {
		d.Add("Disk", strconv.FormatInt((n+1023)/1024, 10)+"kB")
	}
}

// Filter drops the rows of a source for which the condition is not true.
type Filter struct {
	Input   Source
	Cond    Expr
	env     *Env
	rows    int64
	removed int64
	scratch work.Scratch
}

func (f *Filter) Open(env *Env) error {
	f.env = env
	return f.Input.Open(env)
}

func (f *Filter) Next() (bool, error) {
	for {
		ok, err := f.Input.Next()
		if !ok || err != nil {
			return false, err
		}
		around := f.env.Enter(&f.scratch)
		holds, err := Holds(f.env, f.Cond)
		f.env.Leave(around)
		if err != nil {
			return false, err
		}
		if err := f.env.Step(1); err != nil {
			return false, err
		}
		if holds {
			f.rows++
			return true, nil
		}
		f.removed++
	}
}

func (f *Filter) Close() {
	f.Input.Close()
	if f.env != nil {
		f.env.Drop(&f.scratch)
	}
}

// Describe adds the filter to the node below, as PostgreSQL does.
func (f *Filter) Describe() *Description {
	d := f.Input.Describe()
	d.Add("Filter", f.Cond.String())
	d.Conds, d.Exprs = append(d.Conds, f.Cond), append(d.Exprs, f.Cond)
	if f.removed > 0 || f.rows > 0 {
		d.Add("Rows Removed by Filter", f.removed)
	}
	d.Rows = f.rows
	return d
}

// One is a query without FROM: one row without columns.
type One struct{ done bool }

func (o *One) Open(*Env) error { o.done = false; return nil }
func (o *One) Next() (bool, error) {
	more := !o.done
	o.done = true
	return more, nil
}
func (o *One) Close()                 {}
func (o *One) Describe() *Description { return &Description{Node: "Result", Rows: 1, Examined: -1} }

// Nothing is a source without rows, because WHERE is never true.
type Nothing struct{ Reason string }

func (*Nothing) Open(*Env) error     { return nil }
func (*Nothing) Next() (bool, error) { return false, nil }
func (*Nothing) Close()              {}
func (n *Nothing) Describe() *Description {
	d := &Description{Node: "Nothing", Examined: -1}
	d.Add("Reason", n.Reason)
	return d
}

// Project computes the select list over a source.
type Project struct {
	Input Source
	Width int // of the source's row buffer
	Exprs []Expr
	env   Env
	out   []types.Datum
	rows  int64

	scratch work.Scratch
}

func (p *Project) Open(outer *Env) error {
	p.env = Env{Row: make([]types.Datum, p.Width), Outer: outer, State: outer.State}
	p.out = make([]types.Datum, len(p.Exprs))
	return p.Input.Open(&p.env)
}

func (p *Project) Next() ([]types.Datum, error) {
	ok, err := p.Input.Next()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, io.EOF
	}
	around := p.env.Enter(&p.scratch)
	for i, e := range p.Exprs {
		if p.out[i], err = e.Eval(&p.env); err != nil {
			break
		}
	}
	p.env.Leave(around)
	if err != nil {
		return nil, err
	}
	p.rows++
	return p.out, p.env.Step(1)
}

func (p *Project) Close() {
	p.Input.Close()
	if p.env.State != nil {
		p.env.Drop(&p.scratch)
	}
}

func (p *Project) Describe() *Description {
	d := p.Input.Describe()
	d.Columns = make([]types.OID, len(p.Exprs))
	for i, e := range p.Exprs {
		d.Columns[i] = e.Type()
	}
	d.Exprs = append(d.Exprs, p.Exprs...)
	return d
}

// Derived is a query in FROM: its rows become columns of the enclosing query.
type Derived struct {
	Plan  Plan
	Name  string
	Base  int // first column in env.Row
	Width int
	// Lateral queries see the columns of the FROM items before them. Other queries only see the enclosing queries.
	Lateral bool
	env     *Env
}

func (d *Derived) Open(env *Env) error {
	d.env = env
	outer := env.Outer
	if d.Lateral {
		outer = env
	} else if outer == nil {
		outer = &Env{State: env.State}
	}
	return d.Plan.Open(outer)
}

func (d *Derived) Next() (bool, error) {
	row, err := d.Plan.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	copy(d.env.Row[d.Base:d.Base+d.Width], row)
	return true, nil
}

func (d *Derived) Close() { d.Plan.Close() }

func (d *Derived) Describe() *Description {
	inner := d.Plan.Describe()
	if d.Name == "" {
		return inner // of a condition
	}
	return &Description{Node: "Subquery Scan", On: d.Name, Rows: inner.Rows, Loops: inner.Loops, Examined: -1,
		Children: []*Description{inner}}
}

// Values is VALUES.
type Values struct {
	Items [][]Expr
	outer *Env
	at    int64
	runs  tally.Runs

	scratch work.Scratch
}

func (v *Values) Open(outer *Env) error {
	v.outer = &Env{Outer: outer, State: outer.State}
	v.runs.Begin(&v.at)
	return nil
}

func (v *Values) Next() ([]types.Datum, error) {
	if v.at >= int64(len(v.Items)) {
		return nil, io.EOF
	}
	v.at++
	around := v.outer.Enter(&v.scratch)
	row, err := EvalAll(v.outer, v.Items[v.at-1])
	v.outer.Leave(around)
	if err != nil {
		return nil, err
	}
	return row, v.outer.Step(1)
}

func (v *Values) Close() {
	if v.outer != nil {
		v.outer.Drop(&v.scratch)
	}
}

func (v *Values) Describe() *Description {
	d := &Description{Node: "Values Scan", On: `"*VALUES*"`, Examined: -1, Likely: int64(len(v.Items))}
	d.Rows, d.Loops = v.runs.Total(v.at)
	for _, items := range v.Items[:min(len(v.Items), maxShown)] {
		d.Exprs = append(d.Exprs, items...)
	}
	return d
}

// maxShown is the number of rows of VALUES in which EXPLAIN looks for queries.
const maxShown = 100

package exec

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Relation is a virtual relation, whose rows are computed and not read from the store: those of the catalogue and of
// schema divan. They may be joined.
type Relation interface {
	// Name returns the unique name, including the schema.
	Name() string
	Columns() []Column
	// Rows begins an execution. It returns a function that gives add the next rows, which add keeps, and reports
	// whether there may be more.
	Rows(st *State) func(add func(row []types.Datum) error) (more bool, err error)
}

// Parted is a Relation whose rows may come in parts, by the text in one of its columns.
type Parted interface {
	Relation
	// PartColumn returns the index of that column, or -1 if the rows do not come in parts.
	PartColumn() int
	// RowsOf is Rows of some parts alone.
	RowsOf(st *State, parts []string) func(add func(row []types.Datum) error) (more bool, err error)
}

// virtualRows are the rows of a Relation that an execution has asked for so far. All scans of the same parts of it
// share them, so that they see the same.
type virtualRows struct {
	list *spill.List
	next func(add func(row []types.Datum) error) (more bool, err error) // nil at the end
}

// rowsOf returns the rows of a relation, or of some parts of it unless parts is nil.
func (s *State) rowsOf(r Relation, parts []string) *virtualRows {
	key := r.Name()
	if parts != nil {
		key += "\x00" + strings.Join(parts, "\x00")
	}
	rows := s.virtual[key]
	if rows == nil {
		rows = &virtualRows{list: s.Spill.NewList(len(r.Columns()))}
		if p, ok := r.(Parted); ok && parts != nil {
			rows.next = p.RowsOf(s, parts)
		} else {
			rows.next = r.Rows(s)
		}
		if s.virtual == nil {
			s.virtual = map[string]*virtualRows{}
		}
		s.virtual[key] = rows
	}
	return rows
}

// read returns a scan's next row, or io.EOF.
func (r *virtualRows) read(scan *spill.Scan) ([]types.Datum, error) {
	for {
		row, err := scan.Next()
		if !errors.Is(err, io.EOF) || r.next == nil {
			return row, err
		}
		more, err := r.next(r.list.Keep)
		if err != nil {
			return nil, StoreError(err)
		}
		if !more {
			r.next = nil
		}
	}
}

// Virtual scans a Relation.
type Virtual struct {
	Relation Relation
	// Parts, unless nil, are the only parts of a Parted that are read, in ascending order.
	Parts []string
	Base  int
	env   *Env
	rows  *virtualRows
	scan  *spill.Scan
	got   int64
	runs  tally.Runs
	Alias string // for EXPLAIN
}

func (v *Virtual) Open(env *Env) error {
	v.Close()
	v.env, v.rows = env, env.rowsOf(v.Relation, v.Parts)
	v.scan = v.rows.list.Scan()
	v.runs.Begin(&v.got)
	return nil
}

func (v *Virtual) Next() (bool, error) {
	row, err := v.rows.read(v.scan)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil {
		err = v.env.Step(1)
	}
	if err != nil {
		return false, err
	}
	copy(v.env.Row[v.Base:], row)
	v.got++
	return true, nil
}

func (v *Virtual) Close() { v.scan.Close() }

func (v *Virtual) Describe() *Description {
	d := &Description{Node: "System Read", On: v.Relation.Name(), Alias: v.Alias}
	d.Rows, d.Loops = v.runs.Total(v.got)
	d.Examined = d.Rows
	if v.Parts != nil {
		d.Add("Range", v.shownParts())
	}
	return d
}

// maxShownParts is the number of parts that EXPLAIN shows.
const maxShownParts = 10

func (v *Virtual) shownParts() string {
	column := v.Relation.Columns()[v.Relation.(Parted).PartColumn()].Name
	var all []string
	for i, part := range v.Parts {
		if i == maxShownParts {
			all = append(all, fmt.Sprintf("... and %d more", len(v.Parts)-i))
			break
		}
		all = append(all, fmt.Sprintf("%s = '%s'", column, strings.ReplaceAll(part, "'", "''")))
	}
	return strings.Join(all, " or ")
}

// TableFunc is a function that returns rows.
type TableFunc struct {
	Name string
	// Args are its argument types. Columns returns its columns, whose types may depend on the arguments.
	Args     []types.OID
	Variadic bool
	NullArgs bool
	// Names and Defaults are as in Func.
	Names    []string
	Defaults []types.Datum
	Columns  func(args []types.OID) []Column
	// Rows returns all rows. Stream instead returns a function that returns one row at a time, and nil at the end.
	Rows   func(env *Env, argTypes []types.OID, args []types.Datum) ([][]types.Datum, error)
	Stream func(args []types.Datum) (func() []types.Datum, error)
	// StreamEnv is Stream for functions that depend on the session.
	StreamEnv func(env *Env, args []types.Datum) (func() ([]types.Datum, error), error)
}

// setRows holds the rows of one call of a TableFunc.
type setRows struct {
	env    *Env
	stream func() ([]types.Datum, error)
	rows   [][]types.Datum
	held   int64
	at     int
}

func (s *setRows) call(env *Env, f *TableFunc, oids []types.OID, args []types.Datum) (err error) {
	s.env = env
	if f.Stream != nil {
		stream, err := f.Stream(args)
		s.stream = func() ([]types.Datum, error) { return stream(), nil }
		return err
	}
	if f.StreamEnv != nil {
		s.stream, err = f.StreamEnv(env, args)
		return err
	}
	if s.rows, err = f.Rows(env, oids, args); err != nil {
		return err
	}
	var n int64
	for _, row := range s.rows {
		n += RowSize(row)
	}
	if err := env.Hold(n); err != nil {
		return err
	}
	s.held = n
	return nil
}

// next returns a row, or nil at the end.
func (s *setRows) next() ([]types.Datum, error) {
	if s.stream != nil {
		row, err := s.stream()
		if s.at++; row == nil {
			s.stream = nil // the others may go on
		}
		return row, err
	}
	if s.at >= len(s.rows) {
		return nil, nil
	}
	s.at++
	return s.rows[s.at-1], nil
}

func (s *setRows) free() {
	if s.env != nil {
		s.env.Release(s.held)
	}
	*s = setRows{}
}

// FromCall is a function in FROM: Func with its arguments, or a scalar function, which gives one row of one column.
type FromCall struct {
	Func   *TableFunc
	Args   []Expr
	Scalar Expr // instead of Func
	// At is the place of its first column in the scan, Width the number of its columns.
	At, Width int
}

// FuncScan scans one function, or several side by side: the shorter ones are filled with NULL.
type FuncScan struct {
	Calls      []FromCall
	Name       string
	Alias      string // for EXPLAIN
	Base       int
	Width      int // without ordinality
	Ordinality bool
	env        *Env
	sets       []setRows
	at         int64
	runs       tally.Runs

	scratch work.Scratch
}

func (f *FuncScan) Open(env *Env) error {
	f.free()
	f.env, f.sets = env, make([]setRows, len(f.Calls))
	f.runs.Begin(&f.at)
	// Functions are always lateral: their arguments see the FROM items before this one. They were bound one level
	// further in.
	inner := &Env{Outer: env, State: env.State}
	around := env.Enter(&f.scratch)
	defer env.Leave(around)
	for i := range f.Calls {
		if err := f.Calls[i].open(inner, &f.sets[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *FromCall) open(env *Env, set *setRows) error {
	if c.Scalar != nil {
		d, err := c.Scalar.Eval(env)
		set.rows = [][]types.Datum{{d}}
		return err
	}
	args, err := EvalAll(env, c.Args)
	if err != nil {
		return err
	}
	oids := make([]types.OID, len(args))
	for i, a := range args {
		oids[i] = c.Args[i].Type()
		if a.IsNull() && !c.Func.NullArgs {
			return nil
		}
	}
	return set.call(env, c.Func, oids, args)
}

func (f *FuncScan) Next() (bool, error) {
	out := f.env.Row[f.Base : f.Base+f.Width]
	any := false
	for i, c := range f.Calls {
		row, err := f.sets[i].next()
		if err != nil {
			return false, err
		}
		if row == nil {
			clear(out[c.At : c.At+c.Width])
			continue
		}
		copy(out[c.At:c.At+c.Width], row)
		any = true
	}
	if !any {
		return false, nil
	}
	if err := f.env.Step(1); err != nil {
		return false, err
	}
	f.at++
	if f.Ordinality {
		f.env.Row[f.Base+f.Width] = types.NewInt(f.at)
	}
	return true, nil
}

func (f *FuncScan) free() {
	for i := range f.sets {
		f.sets[i].free()
	}
}

func (f *FuncScan) Close() {
	f.free()
	if f.env != nil {
		f.env.Drop(&f.scratch)
	}
}

func (f *FuncScan) Describe() *Description {
	d := &Description{Node: "Function Scan", On: f.Name, Alias: f.Alias, Examined: -1}
	d.Rows, d.Loops = f.runs.Total(f.at)
	for i := range f.Calls {
		c := &f.Calls[i]
		d.Likely = max(d.Likely, c.likely())
		d.Exprs = append(append(d.Exprs, c.Args...), c.Scalar)
	}
	return d
}

// usualRows is PostgreSQL's guess for functions of which nothing else is known, and usualMembers that for those that
// take a json apart (prorows in its pg_proc).
const (
	usualRows    = 1000
	usualMembers = 100
)

// likely returns how many rows the function returns, or a guess.
func (c *FromCall) likely() int64 {
	switch {
	case c.Scalar != nil:
		return 1
	case c.Func.Name == "generate_series":
		return seriesLength(c.Args)
	case c.Func.Name == "unnest":
		var most int64 = 1
		for _, a := range c.Args {
			switch n := a.(type) {
			case *Array:
				most = max(most, int64(len(n.Items)))
			case *Const:
				if !n.D.IsNull() && n.D.Array() != nil {
					most = max(most, int64(len(n.D.Array().Items)))
				}
			default:
				most = max(most, 10) // as PostgreSQL does
			}
		}
		return most
	case strings.HasPrefix(c.Func.Name, "json") && !strings.Contains(c.Func.Name, "path"):
		return usualMembers
	}
	return usualRows
}

// seriesLength returns the length of a series of integers whose ends are constants.
func seriesLength(args []Expr) int64 {
	var values [3]int64
	values[2] = 1
	for i, a := range args {
		if c, ok := a.(*CastExpr); ok && c.To == types.Int8 {
			a = c.X
		}
		k, ok := a.(*Const)
		switch {
		case !ok:
			return usualRows
		case k.D.IsNull():
			return 1
		case k.Typ != types.Int4 && k.Typ != types.Int8:
			return usualRows
		}
		values[i] = k.D.I
	}
	step := float64(values[2])
	if step == 0 {
		return usualRows // it fails
	}
	n := (float64(values[1])-float64(values[0]))/step + 1
	return int64(min(max(n, 1), math.MaxInt32))
}

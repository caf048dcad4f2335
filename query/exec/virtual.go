package exec

import (
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Relation is a relation whose rows are made, not read from the store: those of the catalogue and of schema divan. They
// are small, so they may be joined.
type Relation interface {
	// Name with its schema, unique.
	Name() string
	Columns() []Column
	// Rows makes all rows. It is called once per execution.
	Rows(st *State) ([][]types.Datum, error)
}

// Virtual scans a Relation.
type Virtual struct {
	Relation Relation
	Base     int
	// Need says which columns are used; others are not copied. nil is all.
	Need []bool
	env  *Env
	rows [][]types.Datum
	at   int
	got  int64
}

func (v *Virtual) Open(env *Env) error {
	v.env, v.at = env, 0
	rows, ok := env.virtual[v.Relation.Name()]
	if !ok {
		var err error
		if rows, err = v.Relation.Rows(env.State); err != nil {
			return StoreError(err)
		}
		var size int64
		for _, r := range rows {
			size += RowSize(r)
		}
		if err := env.Hold(size); err != nil {
			return err
		}
		if env.virtual == nil {
			env.State.virtual = map[string][][]types.Datum{}
		}
		env.virtual[v.Relation.Name()] = rows
	}
	v.rows = rows
	return nil
}

func (v *Virtual) Next() (bool, error) {
	if v.at >= len(v.rows) {
		return false, nil
	}
	if err := v.env.Step(1); err != nil {
		return false, err
	}
	copy(v.env.Row[v.Base:], v.rows[v.at])
	v.at++
	v.got++
	return true, nil
}

func (v *Virtual) Close() {}

func (v *Virtual) Describe() *Description {
	return &Description{Node: "System Read on " + v.Relation.Name(), Rows: v.got, Examined: v.got}
}

// TableFunc is a function that returns rows.
type TableFunc struct {
	Name string
	// Args are the types it takes; Columns what it returns (types may depend on the arguments).
	Args     []types.OID
	Variadic bool
	NullArgs bool
	// Names and Defaults are as a Func's.
	Names    []string
	Defaults []types.Datum
	Columns  func(args []types.OID) []Column
	// Rows makes all rows. Stream instead makes one at a time, and nil at the end.
	Rows   func(env *Env, argTypes []types.OID, args []types.Datum) ([][]types.Datum, error)
	Stream func(args []types.Datum) (func() []types.Datum, error)
	// StreamEnv is Stream for what depends on the session.
	StreamEnv func(env *Env, args []types.Datum) (func() []types.Datum, error)
}

// setRows are the rows of one call of a TableFunc.
type setRows struct {
	env    *Env
	stream func() []types.Datum
	rows   [][]types.Datum
	held   int64
	at     int
}

func (s *setRows) call(env *Env, f *TableFunc, oids []types.OID, args []types.Datum) (err error) {
	s.env = env
	if f.Stream != nil {
		s.stream, err = f.Stream(args)
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

// next returns a row, nil at the end.
func (s *setRows) next() ([]types.Datum, error) {
	if s.stream != nil {
		row := s.stream()
		s.at++
		return row, nil
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

// FuncScan scans a TableFunc, or a plain function as one row of one column.
type FuncScan struct {
	Func       *TableFunc
	Args       []Expr
	Scalar     Expr // instead of Func
	Name       string
	Base       int
	Width      int // without ordinality
	Ordinality bool
	env        *Env
	set        setRows
	at         int

	scratch work.Scratch
}

func (f *FuncScan) Open(env *Env) error {
	f.set.free()
	f.env, f.at = env, 0
	// The arguments see the FROM items before this one: functions are lateral by nature. They were bound one level
	// inside.
	inner := &Env{Outer: env, State: env.State}
	around := env.Enter(&f.scratch)
	defer env.Leave(around)
	if f.Scalar != nil {
		d, err := f.Scalar.Eval(inner)
		f.set.rows = [][]types.Datum{{d}}
		return err
	}
	args, err := EvalAll(inner, f.Args)
	if err != nil {
		return err
	}
	oids := make([]types.OID, len(args))
	for i, a := range args {
		oids[i] = f.Args[i].Type()
		if a.IsNull() && !f.Func.NullArgs {
			return nil
		}
	}
	return f.set.call(inner, f.Func, oids, args)
}

func (f *FuncScan) Next() (bool, error) {
	row, err := f.set.next()
	if row == nil || err != nil {
		return false, err
	}
	if err := f.env.Step(1); err != nil {
		return false, err
	}
	copy(f.env.Row[f.Base:f.Base+f.Width], row)
	f.at++
	if f.Ordinality {
		f.env.Row[f.Base+f.Width] = types.NewInt(int64(f.at))
	}
	return true, nil
}

func (f *FuncScan) Close() {
	f.set.free()
	if f.env != nil {
		f.env.Drop(&f.scratch)
	}
}

func (f *FuncScan) Describe() *Description {
	return &Description{Node: "Function Scan on " + f.Name, Rows: int64(f.at), Examined: -1}
}

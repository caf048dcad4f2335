package exec

import (
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Relation is a relation whose rows are made, not read from the store: those of the catalogue and of schema divan. They are small, so
// they may be joined.
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
			size += rowSize(r)
		}
		if err := env.hold(size); err != nil {
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
	if err := v.env.tick(); err != nil {
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
	Columns  func(args []types.OID) []Column
	Rows     func(env *Env, argTypes []types.OID, args []types.Datum) ([][]types.Datum, error)
}

// maxFunctionRows bounds what a function in FROM may make.
const maxFunctionRows = 1_000_000

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
	rows       [][]types.Datum
	at         int
}

func (f *FuncScan) Open(env *Env) error {
	f.env, f.at, f.rows = env, 0, nil
	// The arguments see the FROM items before this one: functions are lateral by nature. They were bound one level inside.
	inner := &Env{Outer: env, State: env.State}
	if f.Scalar != nil {
		d, err := f.Scalar.Eval(inner)
		f.rows = [][]types.Datum{{d}}
		return err
	}
	args, err := evalAll(inner, f.Args)
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
	if f.rows, err = f.Func.Rows(inner, oids, args); err != nil {
		return err
	}
	if len(f.rows) > maxFunctionRows {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "function %s returned more than %d rows", f.Name, maxFunctionRows)
	}
	return nil
}

func (f *FuncScan) Next() (bool, error) {
	if f.at >= len(f.rows) {
		return false, nil
	}
	if err := f.env.tick(); err != nil {
		return false, err
	}
	copy(f.env.Row[f.Base:f.Base+f.Width], f.rows[f.at])
	f.at++
	if f.Ordinality {
		f.env.Row[f.Base+f.Width] = types.NewInt(int64(f.at))
	}
	return true, nil
}

func (f *FuncScan) Close() {}

func (f *FuncScan) Describe() *Description {
	return &Description{Node: "Function Scan on " + f.Name, Rows: int64(f.at), Examined: -1}
}

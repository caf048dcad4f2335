package exec

import (
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// SetCall is a call of a function that returns rows in a select list, GROUP BY or ORDER BY.
type SetCall struct {
	Func *TableFunc
	Args []Expr
	// Fields are the needed columns of the function. Their values are in the row from At on; -1 is the only column, or
	// the record of all columns.
	Fields []int
	At     int

	types   []types.OID // of the arguments
	columns []Column
}

// Unfold calls functions that return rows for each row of its input. The row is repeated for each row of the longest of
// them; shorter ones are filled up with NULL.
type Unfold struct {
	Input Source
	Sets  []*SetCall
	env   *Env
	sets  []setRows
	open  bool // the functions have been called for the current input row
	rows  int64
	runs  tally.Runs

	scratch work.Scratch
}

func (u *Unfold) Open(env *Env) error {
	u.env = env
	u.runs.Begin(&u.rows)
	u.free()
	u.sets = make([]setRows, len(u.Sets))
	for _, s := range u.Sets {
		s.types = make([]types.OID, len(s.Args))
		for i, a := range s.Args {
			s.types[i] = a.Type()
		}
		s.columns = s.Func.Columns(s.types)
	}
	return u.Input.Open(env)
}

func (u *Unfold) Next() (bool, error) {
	for {
		if !u.open {
			if ok, err := u.Input.Next(); !ok || err != nil {
				return false, err
			}
			around := u.env.Enter(&u.scratch)
			err := u.call()
			u.env.Leave(around)
			if err != nil {
				return false, err
			}
			u.open = true
		}
		if err := u.env.Step(1); err != nil {
			return false, err
		}
		any := false
		for i, s := range u.Sets {
			row, err := u.sets[i].next()
			if err != nil {
				return false, err
			}
			any = any || row != nil
			for j, field := range s.Fields {
				u.env.Row[s.At+j] = s.value(row, field)
			}
		}
		if any {
			u.rows++
			return true, nil
		}
		u.free()
	}
}

// call calls the functions for the current input row.
func (u *Unfold) call() error {
	for i, s := range u.Sets {
		args, err := EvalAll(u.env, s.Args)
		if err != nil {
			return err
		}
		null := false
		for _, a := range args {
			null = null || a.IsNull()
		}
		if !null || s.Func.NullArgs {
			if err := u.sets[i].call(u.env, s.Func, s.types, args); err != nil {
				return err
			}
		}
	}
	return nil
}

// value returns a column of a row of the function. The row is nil after the function's end.
func (s *SetCall) value(row []types.Datum, field int) types.Datum {
	switch {
	case row == nil:
		return types.Null
	case field >= 0:
		return row[field]
	case len(row) == 1:
		return row[0]
	}
	oids, names := make([]types.OID, len(row)), make([]string, len(row))
	for i, c := range s.columns {
		oids[i], names[i] = c.Type, c.Name
	}
	return types.NewRecord(oids, names, row)
}

// free releases the rows of the functions for the current input row.
func (u *Unfold) free() {
	u.open = false
	for i := range u.sets {
		u.sets[i].free()
	}
}

func (u *Unfold) Close() {
	u.Input.Close()
	u.free()
	if u.env != nil && u.env.State != nil {
		u.env.Drop(&u.scratch)
	}
}

func (u *Unfold) Describe() *Description {
	d := &Description{Node: "ProjectSet", Examined: -1, Children: []*Description{u.Input.Describe()}}
	d.Rows, d.Loops = u.runs.Total(u.rows)
	for _, s := range u.Sets {
		d.Exprs = append(d.Exprs, s.Args...)
	}
	return d
}

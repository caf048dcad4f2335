package sql

import (
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxTargets is PostgreSQL's limit of columns in a result.
const maxTargets = 1664

// boundSetFunc is a function that returns rows, called in a select list.
type boundSetFunc struct {
	fn    *exec.TableFunc
	args  []exec.Expr
	field int // the column that is wanted; -1 for all
}

// column describes what the select list shows of it.
func (s *boundSetFunc) column() exec.Column {
	oids := make([]types.OID, len(s.args))
	for i, a := range s.args {
		oids[i] = a.Type()
	}
	cols := s.fn.Columns(oids)
	switch {
	case s.field >= 0:
		return cols[s.field]
	case len(cols) == 1:
		return cols[0]
	}
	return exec.Column{Type: types.Record, Mod: -1, Fields: cols}
}

// targets binds the select list: * unfolds, and every column gets its name.
func (b *binder) targets(s *selectStmt, sc *scope) ([]exec.Expr, []exec.Column, error) {
	var out []exec.Expr
	var names []exec.Column
	add := func(e exec.Expr, name string, mod int32) {
		out = append(out, e)
		names = append(names, exec.Column{Name: name, Type: e.Type(), Mod: mod})
	}
	for _, t := range s.targets {
		if c, ok := t.expr.(*column); ok && c.star {
			cols, err := b.star(c, sc)
			if err != nil {
				return nil, nil, err
			}
			for _, rc := range cols {
				var e exec.Expr = &exec.Col{Index: rc.index, Typ: rc.typ, Name: rc.name, Collation: rc.collation}
				if rc.merged != nil {
					e = rc.merged
				}
				add(e, rc.name, rc.mod)
				names[len(names)-1].Fields, names[len(names)-1].Collation = rc.fields, rc.collation
			}
			continue
		}
		if set, err := b.setFunc(t.expr, sc); err != nil {
			return nil, nil, err
		} else if set != nil {
			for len(sc.query.setReturn) < len(out) {
				sc.query.setReturn = append(sc.query.setReturn, nil)
			}
			sc.query.setReturn = append(sc.query.setReturn, set)
			col := set.column()
			add(exec.NullOf(col.Type), pick(t.alias, targetName(t.expr)), -1)
			names[len(names)-1].Fields = col.Fields
			continue
		}
		e, err := b.expr(t.expr, sc)
		if err != nil {
			return nil, nil, err
		}
		if untyped(e) {
			if e, err = b.coerce(e, types.Text, types.Implicit, t.expr.offset()); err != nil {
				return nil, nil, err
			}
		}
		add(e, pick(t.alias, targetName(t.expr)), modOf(e, sc))
		names[len(names)-1].Fields = fieldsOf(e, sc)
		if names[len(names)-1].Collation, err = columnCollation(e, t.expr.offset()); err != nil {
			return nil, nil, err
		}
	}
	if len(out) > maxTargets {
		return nil, nil, sqlstate.New(sqlstate.TooManyColumns, "target lists can have at most %d entries", maxTargets)
	}
	if sc.query.setReturn != nil {
		for len(sc.query.setReturn) < len(out) {
			sc.query.setReturn = append(sc.query.setReturn, nil)
		}
	}
	return out, names, nil
}

func pick(alias, name string) string {
	if alias != "" {
		return alias
	}
	return name
}

// setFunc recognises a set-returning function as a whole item of the select list, also as (f(x)).column.
func (b *binder) setFunc(e expr, sc *scope) (*boundSetFunc, error) {
	name := ""
	if f, ok := e.(*field); ok {
		name, e = f.name, f.x
	}
	c, ok := e.(*call)
	if !ok || len(exec.TableFuncs[c.name[len(c.name)-1]]) == 0 || c.over != nil || c.star {
		return nil, nil
	}
	args, err := b.args(c, sc)
	if err != nil {
		return nil, err
	}
	fn := b.tableFunc(c, args)
	if fn == nil {
		return nil, nil
	}
	if slices.ContainsFunc(args, hasLocale) {
		return nil, unsupportedCollation(e.offset(), "an argument of a function that returns rows")
	}
	if args, err = b.coerceArgs(args, fn.Args, fn.Variadic, c.offset()); err != nil {
		return nil, err
	}
	out := &boundSetFunc{fn, args, -1}
	if name != "" {
		cols := out.column().Fields
		if out.field = slices.IndexFunc(cols, func(c exec.Column) bool { return c.Name == name }); out.field < 0 {
			return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q not found in data type record", name).At(e.offset())
		}
	}
	return out, nil
}

func (b *binder) star(c *column, sc *scope) ([]relColumn, error) {
	var out []relColumn
	found := false
	for _, r := range sc.rels {
		if len(c.parts) > 0 && !r.matches(c.parts, b.r.DatabaseName()) {
			continue
		}
		found = true
		for _, rc := range r.cols {
			if len(c.parts) == 0 && rc.hidden {
				continue
			}
			if len(c.parts) > 0 {
				rc.merged = nil
			}
			r.use(rc.index)
			out = append(out, rc)
		}
	}
	if !found {
		if len(c.parts) == 0 {
			return nil, syntaxError(c.offset(), "SELECT * with no tables specified is not valid")
		}
		return nil, sqlstate.New(sqlstate.UndefinedTable, "missing FROM-clause entry for table %q", c.parts[len(c.parts)-1]).At(c.offset())
	}
	return out, nil
}

// modOf is the type modifier of a plain column or a cast.
func modOf(e exec.Expr, sc *scope) int32 {
	switch n := e.(type) {
	case *exec.Col:
		if n.Depth == 0 {
			for _, r := range sc.rels {
				for _, c := range r.cols {
					if c.index == n.Index {
						return c.mod
					}
				}
			}
		}
	case *exec.CastExpr:
		return n.Mod
	}
	return -1
}

// fieldsOf are the fields of a record that is a column.
func fieldsOf(e exec.Expr, sc *scope) []exec.Column {
	c, ok := e.(*exec.Col)
	if !ok || c.Typ != types.Record {
		return nil
	}
	depth := 0
	for s := sc; s != nil; s = s.parent {
		if s.query == nil {
			continue
		}
		if depth == c.Depth {
			for _, r := range s.rels {
				for _, rc := range r.cols {
					if rc.index == c.Index {
						return rc.fields
					}
				}
			}
			return nil
		}
		depth++
	}
	return nil
}

// targetName is the name PostgreSQL gives to a column without an alias (FigureColname).
func targetName(e expr) string {
	name, _ := figureName(e)
	if name == "" {
		return "?column?"
	}
	return name
}

// figureName returns a name and how strong it is: 2 for a real name, 1 for a type's.
func figureName(e expr) (string, int) {
	switch n := e.(type) {
	case *column:
		return n.parts[len(n.parts)-1], 2
	case *field:
		return n.name, 2
	case *call:
		switch name := n.name[len(n.name)-1]; name {
		case "strpos":
			return "position", 2
		default:
			return name, 2
		}
	case *subscript:
		return figureName(n.x)
	case *collation:
		return figureName(n.x)
	case *cast:
		if name, strength := figureName(n.x); strength == 2 {
			return name, 2
		}
		name := n.name.parts[len(n.name.parts)-1]
		if oid, ok := types.ByName(name); ok {
			name = types.Lookup(oid).Name
		}
		return name, 1
	case *caseExpr:
		if n.other != nil {
			if name, strength := figureName(n.other); strength == 2 {
				return name, 2
			}
		}
		return "case", 1
	case *arrayLit:
		return "array", 2
	case *rowLit:
		return "row", 2
	case *literal:
		if n.kind == tIdent && n.text != "null" {
			return "bool", 1
		}
	case *subquery:
		switch n.kind {
		case "exists":
			return "exists", 2
		case "array":
			return "array", 2
		}
		if n.sel.left == nil && len(n.sel.targets) == 1 {
			if n.sel.targets[0].alias != "" {
				return n.sel.targets[0].alias, 2
			}
			return figureName(n.sel.targets[0].expr)
		}
	}
	return "", 0
}

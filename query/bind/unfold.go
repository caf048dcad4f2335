package bind

import (
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// unfolded is one of the columns that (x).* expands to.
type unfolded struct {
	name string
	mod  int32
	expr exec.Expr
}

// unfold expands (x).*. x is a relation, a function that returns rows, a row, or a record whose fields are known.
func (b *binder) unfold(f *ast.Field, sc *scope) ([]unfolded, error) {
	if c, ok := f.X.(*ast.Column); ok && len(c.Parts) == 1 && !c.Star && b.isRelation(c.Parts[0], sc) {
		cols, err := b.star(&ast.Column{At: c.At, Parts: c.Parts, Star: true}, sc)
		if err != nil {
			return nil, err
		}
		var out []unfolded
		for _, rc := range cols {
			out = append(out, unfolded{name: rc.name, mod: rc.mod,
				expr: &exec.Col{Index: rc.index, Typ: rc.typ, Name: rc.name, Collation: rc.collation}})
		}
		return out, nil
	}
	x, err := b.expr(f.X, sc)
	if err != nil {
		return nil, err
	}
	if collation.HasLocale(x) {
		return nil, collation.Unsupported(f.Pos(), "a field of a row")
	}
	var out []unfolded
	if row, ok := x.(*exec.RowExpr); ok {
		for i, it := range row.Items {
			out = append(out, unfolded{name: types.FieldName(row.Names, i), mod: modOf(it, sc), expr: it})
		}
		return out, nil
	}
	if x.Type() != types.Record {
		return nil, typing.NotComposite(x.Type())
	}
	for i, c := range fieldsOf(x, sc) {
		if set, ok := x.(*refs.Set); ok {
			out = append(out, unfolded{name: c.Name, mod: c.Mod, expr: sc.query.column(set, i)})
			continue
		}
		idx := &exec.Const{D: types.NewInt(int64(i)), Typ: types.Int4}
		out = append(out, unfolded{name: c.Name, mod: c.Mod,
			expr: &exec.Call{Func: exec.RecordField, Args: []exec.Expr{x, idx}, Typ: c.Type, Off: f.Pos()}})
	}
	if out == nil {
		return nil, sqlstate.Unsupported(f.Pos(), "Call the function in FROM, and name its columns.",
			"the fields of this expression are not known")
	}
	return out, nil
}

// isRelation reports whether a name refers to a relation in FROM and not to a column.
func (b *binder) isRelation(name string, sc *scope) bool {
	found := false
	for _, r := range sc.rels {
		found = found || r.alias == name
		for _, c := range r.cols {
			if c.name == name && !c.hidden {
				return false
			}
		}
	}
	return found
}

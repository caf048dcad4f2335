package bind

import (
	"fmt"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// setRef stands for a function that returns rows within an expression of the select list, such as date '2024-01-01' +
// generate_series(0, 6), until the width of the rows is known behind which its values stand.
type setRef struct {
	index int
	typ   types.OID
	name  string
}

func (s *setRef) Type() types.OID { return s.typ }

// String tells calls apart: each goes through its rows by itself.
func (s *setRef) String() string { return fmt.Sprintf("%s#s%d", s.name, s.index) }

func (s *setRef) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "a function that returns rows outside of a select list")
}

// moveSet is PostgreSQL's hint.
const moveSet = "You might be able to move the set-returning function into a LATERAL FROM item."

// nestedSet binds a function that returns rows within an expression. Only the select list has them, and there no
// expression that may leave its operands out.
func (b *binder) nestedSet(n *ast.Call, fn *exec.TableFunc, args []exec.Expr, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	where := pick(sc.noSets, sc.noAggregates)
	switch {
	case sc.inAggregate && !sc.inWindow:
		return nil, sqlstate.Unsupported(n.Pos(), moveSet,
			"aggregate function calls cannot contain set-returning function calls")
	case sc.inWindow:
		return nil, sqlstate.Unsupported(n.Pos(), moveSet,
			"window function calls cannot contain set-returning function calls")
	case where != "":
		return nil, sqlstate.Unsupported(n.Pos(), moveSet,
			"set-returning functions are not allowed in %s", where)
	case !sc.inTargets:
		return nil, sqlstate.Unsupported(n.Pos(), "Call it in FROM, or in the select list.",
			"the set-returning function %s is not supported here", name)
	}
	if slices.ContainsFunc(args, hasLocale) {
		return nil, unsupportedCollation(n.Pos(), "an argument of a function that returns rows")
	}
	if err := refuseSetsOfSets(args, n.Pos()); err != nil {
		return nil, err
	}
	args, err := b.coerceArgs(args, fn.Args, fn.Variadic, n.Pos())
	if err != nil {
		return nil, err
	}
	set := &SetFunc{fn, args, -1}
	col := set.column()
	if col.Fields != nil {
		return nil, sqlstate.Unsupported(n.Pos(), "Call it in FROM.",
			"the set-returning function %s, which returns records, is not supported here", name)
	}
	b.volatile++ // it must not be computed twice
	q := sc.query
	q.Nested = append(q.Nested, set)
	return &setRef{len(q.Nested) - 1, col.Type, name}, nil
}

// refuseSetsOfSets refuses arguments that are rows of functions themselves.
func refuseSetsOfSets(args []exec.Expr, off int) error {
	if slices.ContainsFunc(args, hasSets) {
		return sqlstate.Unsupported(off, "Call one of them in FROM.",
			"a set-returning function of another one's rows is not supported")
	}
	return nil
}

// hasSets says that an expression holds a function that returns rows.
func hasSets(e exec.Expr) bool {
	return Holds(e, func(x exec.Expr) bool { _, ok := x.(*setRef); return ok })
}

// withoutSets has functions that return rows refused until the function that it returns is called.
func (sc *scope) withoutSets(where string) func() {
	saved := sc.noSets
	sc.noSets = where
	return func() { sc.noSets = saved }
}

// moveSets moves the arguments of the functions that return rows behind the grouping and the windows.
func (g *grouper) moveSets() error {
	for _, s := range append(g.q.SetReturn[:len(g.q.SetReturn):len(g.q.SetReturn)], g.q.Nested...) {
		if s == nil {
			continue
		}
		for i := range s.Args {
			if g.q.Group {
				var err error
				if s.Args[i], err = g.after(s.Args[i]); err != nil {
					return err
				}
			}
			s.Args[i] = g.place(s.Args[i])
		}
	}
	return nil
}

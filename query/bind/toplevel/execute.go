package toplevel

import (
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Arguments evaluates the arguments of EXECUTE as the types of the parameters. loose is Bound.Loose.
func Arguments(
	e *ast.Execute, r bind.Resolver, plan bind.Planner, want []types.OID, loose func(int) bool, st *exec.State,
) ([]types.Datum, error) {
	if len(e.Args) != len(want) {
		return nil, sqlstate.New(sqlstate.SyntaxError, `wrong number of parameters for prepared statement "%s"`,
			e.Name).
			WithDetail("Expected %d parameters but got %d.", len(want), len(e.Args)).At(e.Pos())
	}
	l, err := bind.NewStatement(st.Work, r, plan, nil).Level(nil, false, e.At)
	if err != nil {
		return nil, err
	}
	out := make([]types.Datum, len(want))
	for i, a := range e.Args {
		x, err := l.Expr(a, "EXECUTE")
		if err == nil {
			exec.Walk(x, func(x exec.Expr) {
				if s, ok := x.(*exec.Subquery); ok && err == nil {
					err = sqlstate.Unsupported(s.Off, "Give its result.", "cannot use subquery in EXECUTE parameter")
				}
			})
		}
		if err != nil {
			return nil, err
		}
		if c, ok := x.(*exec.Const); ok && c.Typ == types.Unknown && loose(i) {
			x, err = typing.LooseConst(c, want[i])
		}
		if err != nil {
			return nil, err
		}
		if !typing.Untyped(x) && types.CastContext(x.Type(), want[i]) > types.Assignment {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				"parameter $%d of type %s cannot be coerced to the expected type %s", i+1, types.NameOf(x.Type()),
				types.NameOf(want[i])).At(ast.Start(a)).WithHint("You will need to rewrite or cast the expression.")
		}
		if x, err = l.Typing().Coerce(x, want[i], types.Assignment, a.Pos()); err != nil {
			return nil, err
		}
		if out[i], err = x.Eval(&exec.Env{State: st}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

package typing

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// VariadicCall binds f(a, VARIADIC array).
func VariadicCall(o *Open, n *ast.Call, args []exec.Expr) (exec.Expr, error) {
	name, last := n.Name[len(n.Name)-1], len(args)-1
	for _, fn := range funcs.Functions[name] {
		if !fn.Variadic || len(fn.Args) != len(args) {
			continue
		}
		if _, ok := Score(fn.Args[:last], false, args[:last]); !ok {
			continue
		}
		of, at := fn.Args[last], n.Args[last].Pos()
		if of == exec.AnyValue {
			if Untyped(args[last]) || types.ElemOf(args[last].Type()) == 0 {
				return nil, sqlstate.New(sqlstate.DatatypeMismatch, "VARIADIC argument must be an array").At(at)
			}
		} else if types.CastContext(args[last].Type(), types.ArrayOf(of)) != types.Implicit {
			continue
		}
		out, err := o.CoerceArgs(args[:last], fn.Args[:last], false, n.Pos())
		if err != nil {
			return nil, err
		}
		array := args[last]
		if of != exec.AnyValue {
			if array, err = o.Coerce(array, types.ArrayOf(of), types.Implicit, at); err != nil {
				return nil, err
			}
		}
		return &exec.Call{Func: funcs.Spread(fn, name == "format"), Args: append(out, array), Typ: fn.Ret,
			Off: n.Pos()}, nil
	}
	return nil, NoFunction(strings.Join(n.Name, "."), args, n.Pos())
}

// TableFunc returns the function that returns rows and fits the arguments, or nil.
func TableFunc(n *ast.Call, args []exec.Expr) (*exec.TableFunc, error) {
	if Indistinct(n.Name[len(n.Name)-1], args) {
		return nil, Ambiguous(strings.Join(n.Name, "."), args, n.Pos())
	}
	best, err := ChooseTable(funcs.TableFuncs[n.Name[len(n.Name)-1]], args)
	if err != nil {
		return nil, Ambiguous(strings.Join(n.Name, "."), args, n.Pos())
	}
	return best, nil
}

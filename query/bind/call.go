package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// call binds a function, an aggregate or a window function.
func (b *binder) call(n *ast.Call, sc *scope) (exec.Expr, error) {
	if n.Procedure {
		args, err := b.args(n, sc)
		if err == nil {
			err = typing.NoProcedure(n.Name, args, n.Pos())
		}
		return nil, err
	}
	name := n.Name[len(n.Name)-1]
	if len(n.Name) > 1 && n.Name[0] != "pg_catalog" && n.Name[0] != "information_schema" &&
		!(n.Name[0] == "divan" && name == "reduce") {
		if err := b.checkSchema(n.Name, n.Pos()); err != nil {
			return nil, err
		}
		args, err := b.args(n, sc)
		if err == nil {
			err = typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
		}
		return nil, err
	}
	if err := refuse.Call(n); err != nil {
		return nil, err
	}
	if n.Over != nil {
		return b.windowCall(n, sc)
	}
	if _, ok := funcs.Aggregates[name]; ok && (n.Within || !onlyWindow(name)) {
		return b.aggregate(n, sc)
	}
	switch {
	case n.Within:
		return nil, b.notOrderedSet(n, sc)
	case window.Funcs[name] != nil:
		args, err := b.args(n, sc)
		if err != nil {
			return nil, err
		}
		for _, f := range window.Funcs[name] {
			if _, ok := typing.Score(f.Args, false, args); ok {
				return nil, sqlstate.New(sqlstate.WrongObjectType, "window function %s requires an OVER clause", name).
					At(n.Pos())
			}
		}
		if len(args) > 0 && len(funcs.Aggregates[name]) > 0 {
			return nil, typing.NeedsWithin(name, n.Pos())
		}
		return nil, typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
	case name == "grouping" && len(n.Name) == 1:
		return b.groupingCall(n, sc)
	}
	for clause, there := range map[string]bool{"DISTINCT": n.Distinct, "ORDER BY": len(n.Order) > 0,
		"FILTER": n.Filter != nil} {
		if there {
			return nil, sqlstate.New(sqlstate.WrongObjectType, "%s specified, but %s is not an aggregate function",
				clause,
				name).At(n.Pos())
		}
	}
	switch name {
	case "coalesce", "greatest", "least":
		if name == "coalesce" {
			defer sc.withoutSets("COALESCE")()
		}
		args, err := b.exprs(n.Args, sc)
		if err != nil {
			return nil, err
		}
		if len(args) == 0 {
			return nil, refuse.Syntax(n.Pos(), "syntax error: %s needs an argument", strings.ToUpper(name))
		}
		off := n.Pos()
		if i := typing.Misfit(args); i >= 0 {
			off = ast.Start(n.Args[i])
		}
		args, typ, err := b.Unify(args, strings.ToUpper(name), off)
		if err != nil || name == "coalesce" {
			return &exec.Coalesce{Op: name, Args: args, Typ: typ}, err
		}
		if !typing.Sortable(typ) {
			return nil, sqlstate.New(sqlstate.UndefinedFunction, "could not identify a comparison function for type %s",
				types.NameOf(typ))
		}
		coll, err := collation.Comparison("<", n.Pos(), args...)
		return &exec.Coalesce{Op: name, Args: args, Typ: typ, Collation: coll}, err
	case "nullif":
		return b.nullIf(n, sc)
	}
	args, err := b.args(n, sc)
	if err != nil {
		return nil, err
	}
	if name == "pg_collation_for" && len(args) == 1 {
		return collation.NameOf(args[0], n.Pos())
	}
	return b.callWith(n, args, sc)
}

// args binds the arguments of a function.
func (b *binder) args(n *ast.Call, sc *scope) ([]exec.Expr, error) {
	if n.Star {
		return nil, sqlstate.New(sqlstate.UndefinedFunction, "%s(*) specified, but %s is not an aggregate function",
			n.Name[len(n.Name)-1], n.Name[len(n.Name)-1]).At(n.Pos())
	}
	if len(n.Args) > 100 {
		return nil, sqlstate.New(sqlstate.TooManyArguments,
			"cannot pass more than 100 arguments to a function").At(n.Pos())
	}
	for _, a := range n.Args {
		if _, ok := a.(*ast.NamedArg); ok {
			return b.namedArgs(n, sc)
		}
	}
	args, err := b.exprs(n.Args, sc)
	return slices.DeleteFunc(args, typing.Void), err
}

// namedArgs puts named arguments in their places and fills the others with defaults.
func (b *binder) namedArgs(n *ast.Call, sc *scope) ([]exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	list := slices.Clone(funcs.Functions[name])
	for _, f := range funcs.TableFuncs[name] {
		list = append(list, &exec.Func{Args: f.Args, Names: f.Names, Defaults: f.Defaults})
	}
	i := slices.IndexFunc(list, func(f *exec.Func) bool { return f.Names != nil })
	if i < 0 {
		return nil, b.noNames(n, sc)
	}
	f := list[i]
	out := make([]exec.Expr, len(f.Args))
	for i, a := range n.Args {
		value := a
		if named, ok := a.(*ast.NamedArg); ok {
			value, i = named.Value, slices.Index(f.Names, named.Name)
		}
		if i < 0 || i >= len(out) || out[i] != nil {
			return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s with these argument names does not exist",
				name).
				At(n.Pos()).WithHint("Its arguments are %s.", strings.Join(f.Names, ", "))
		}
		var err error
		if out[i], err = b.expr(value, sc); err != nil {
			return nil, err
		}
	}
	without := len(f.Args) - len(f.Defaults)
	for i := range out {
		if out[i] != nil {
			continue
		}
		if i < without {
			return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s needs the argument %s", name, f.Names[i]).
				At(n.Pos())
		}
		out[i] = &exec.Const{D: f.Defaults[i-without], Typ: f.Args[i]}
	}
	return out, nil
}

// noNames returns the error for a call with named arguments of a function whose arguments have no names.
func (b *binder) noNames(n *ast.Call, sc *scope) error {
	var args []exec.Expr
	for _, a := range n.Args {
		if named, ok := a.(*ast.NamedArg); ok {
			a = named.Value
		}
		x, err := b.expr(a, sc)
		if err != nil {
			return err
		}
		args = append(args, x)
	}
	return typing.NoNames(n, args)
}

func (b *binder) nullIf(n *ast.Call, sc *scope) (exec.Expr, error) {
	if len(n.Args) != 2 {
		return nil, refuse.Syntax(n.Pos(), "syntax error: NULLIF needs two arguments")
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	return typing.NullIf(&b.Open, args, func(e exec.Expr) int32 { return modOf(e, sc) }, n.Pos())
}

// callWith resolves the function for bound arguments. A function that returns rows is only allowed where the scope
// permits it.
func (b *binder) callWith(n *ast.Call, args []exec.Expr, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	candidates := funcs.Functions[name]
	if typing.Indistinct(name, args) {
		return nil, typing.Ambiguous(strings.Join(n.Name, "."), args, n.Pos())
	}
	if n.Variadic {
		return typing.VariadicCall(&b.Open, n, args)
	}
	if len(candidates) == 0 {
		if e, done, err := b.CastCall(name, args, n.Pos()); done {
			return e, err
		}
		fn, err := typing.TableFunc(n, args)
		if err != nil {
			return nil, err
		}
		if fn != nil {
			return b.setCall(n, fn, args, sc)
		}
		if jsons.Records[name] != nil && len(args) == 1 {
			return nil, jsons.NoFields(name).At(n.Pos())
		}
		candidates = typing.OperatorFuncs(name)
	}
	if typing.BitString(name, args) {
		return nil, sqlstate.Unsupported(n.Args[0].Pos(), "Cast it to bytea.", "bit strings are not supported")
	}
	fn, err := typing.Choose(candidates, args)
	if err != nil || fn == nil {
		if err != nil {
			return nil, typing.Ambiguous(strings.Join(n.Name, "."), args, n.Pos())
		}
		return nil, typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
	}
	if fn.Volatility == exec.Volatile {
		b.volatile++
	}
	if typing.Unpolymorphic(args, fn.Args) {
		return nil, typing.Polymorphic(n.Pos())
	}
	if name != "pg_typeof" && name != "pg_column_size" { // they need arguments whose types are still open
		if args, err = b.CoerceArgs(args, fn.Args, fn.Variadic, n.Pos()); err != nil {
			return nil, err
		}
	}
	if op := typing.OperatorOf(fn); op != "" {
		return b.Operator(op, args, n.Pos())
	}
	if err := collation.Casing(name, n.Pos(), args...); err != nil {
		return nil, err
	}
	typ := typing.ReturnType(fn, args)
	if typ == 0 && fn.RetOf != nil { // array_fill
		return nil, typing.NoArrayType(args[0].Type())
	}
	return &exec.Call{Func: fn, Args: args, Typ: typ, Off: n.Pos()}, nil
}

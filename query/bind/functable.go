package bind

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// funcTable binds a function in FROM, or those of ROWS FROM.
func (b *binder) funcTable(n *ast.FuncTable, sc *scope) (From, error) {
	// The arguments are bound one level further in, where the items before are the enclosing level.
	sc.seen = len(sc.rels)
	inner := &scope{parent: sc, query: &Query{}, noAggregates: "functions in FROM"}
	if len(n.Calls) > 1 && n.Types != nil {
		return nil, refuse.Syntax(n.Types[0].Pos(),
			"ROWS FROM() with multiple functions cannot have a column definition list").
			WithHint("Put a separate column definition list for each function inside ROWS FROM().")
	}
	f := &FuncScan{Base: sc.width, Ordinality: n.Ordinality}
	var cols []exec.Column
	scalar := false
	for _, call := range n.Calls {
		c, ok := call.Expr.(*ast.Call)
		if !ok {
			return nil, sqlstate.Unsupported(n.Pos(), "Call a function.", "this expression in FROM is not supported")
		}
		if f.Name == "" {
			f.Name = c.Name[len(c.Name)-1]
		}
		bound, list, err := b.fromCall(n, call, c, inner)
		if err != nil {
			return nil, err
		}
		bound.At, bound.Width = len(cols), len(list)
		f.Calls, cols = append(f.Calls, *bound), append(cols, list...)
		scalar = bound.Func != nil && len(n.Calls) == 1 && len(cols) == 1 && !n.Ordinality
	}
	f.Width = len(cols)
	if n.Ordinality {
		cols = append(cols, exec.Column{Name: "ordinality", Type: types.Int8, Mod: -1})
	}
	alias := cmp.Or(n.Alias.Name, f.Name)
	f.Alias = alias
	return f, b.addRelation(sc, &relation{alias: alias, scalar: scalar}, cols, n.Columns, n.Pos())
}

// fromCall binds one function of FROM, and returns its columns.
func (b *binder) fromCall(n *ast.FuncTable, call ast.FuncCall, c *ast.Call, inner *scope) (*exec.FromCall,
	[]exec.Column, error) {
	name := c.Name[len(c.Name)-1]
	if funcs.Aggregates[name] != nil && !onlyWindow(name) {
		return nil, nil, sqlstate.New(sqlstate.GroupingError,
			"aggregate functions are not allowed in functions in FROM").At(c.Pos())
	}
	args, err := b.args(c, inner)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(args, collation.HasLocale) {
		return nil, nil, collation.Unsupported(n.Pos(), "an argument of a function in FROM")
	}
	alias := n.Alias.Name
	if len(n.Calls) > 1 {
		alias = "" // names the columns of one function only
	}
	fn, err := b.record(n, call, c, args)
	if err != nil {
		return nil, nil, err
	}
	if fn == nil {
		if fn, err = typing.TableFunc(c, args); err != nil {
			return nil, nil, err
		}
	}
	list := n.Definitions(call)
	if fn == nil {
		x, err := b.callWith(c, args, inner)
		if err != nil {
			return nil, nil, err
		}
		if list != nil {
			return nil, nil, refuse.Definitions(list)
		}
		return &exec.FromCall{Scalar: x}, []exec.Column{{Name: cmp.Or(alias, name), Type: x.Type(), Mod: -1}}, nil
	}
	if list != nil && jsons.Records[name] == nil {
		return nil, nil, refuse.Definitions(list)
	}
	if args, err = b.CoerceArgs(args, fn.Args, fn.Variadic, c.Pos()); err != nil {
		return nil, nil, err
	}
	cols := slices.Clone(fn.Columns(typing.TypesOf(args)))
	// The only column of a function, if it has no name of its own, is named after the alias.
	if len(cols) == 1 && alias != "" && cols[0].Name == fn.Name {
		cols[0].Name = alias
	}
	return &exec.FromCall{Func: fn, Args: args}, cols, nil
}

// record turns a function that returns records into one that returns the columns of its definition list.
func (b *binder) record(n *ast.FuncTable, call ast.FuncCall, c *ast.Call, args []exec.Expr) (*exec.TableFunc, error) {
	fn := jsons.Records[c.Name[len(c.Name)-1]]
	if fn == nil {
		return nil, nil
	}
	if _, ok := typing.Score(fn.Args, false, args); !ok {
		return nil, nil
	}
	if len(args) == 2 && typing.Untyped(args[0]) {
		return nil, typing.Polymorphic(c.Pos())
	}
	list, names := n.Definitions(call), n.Columns
	if list == nil {
		return nil, refuse.Syntax(c.Pos(), "a column definition list is required for functions returning \"record\"")
	}
	if n.Types == nil {
		names = call.Columns
	}
	cols := make([]exec.Column, len(list))
	for i, t := range list {
		oid, mod, err := b.resolveType(t)
		if err != nil {
			return nil, err
		}
		cols[i] = exec.Column{Name: names[i], Type: oid, Mod: mod}
	}
	return fn.Of(cols), nil
}

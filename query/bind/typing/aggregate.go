package typing

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Aggregate chooses the overload of an aggregate without WITHIN GROUP for its arguments, which it casts.
func Aggregate(o *Open, name []string, args []exec.Expr, off int) (*exec.Aggregate, []exec.Expr, error) {
	last := name[len(name)-1]
	if len(args) == 1 && Untyped(args[0]) && slices.Contains(severalKinds, last) {
		return nil, nil, Ambiguous(strings.Join(name, "."), args, off)
	}
	of := args
	agg := ChooseAggregate(funcs.Aggregates[last], args)
	if agg == nil {
		return nil, nil, NoFunction(strings.Join(name, "."), args, off)
	}
	if agg.Ordered {
		return nil, nil, NeedsWithin(last, off)
	}
	if last == "min" || last == "max" {
		if args = ordered(args); args == nil {
			return nil, nil, NoFunction(strings.Join(name, "."), of, off)
		}
	} else if Unpolymorphic(args, agg.Args) {
		return nil, nil, Polymorphic(-1)
	}
	args, err := o.CoerceArgs(args, agg.Args, false, off)
	return agg, args, err
}

// ordered returns the argument of min or max, or nil if they do not exist for its type. OIDs have them, but not the reg
// types.
func ordered(args []exec.Expr) []exec.Expr {
	switch t := args[0].Type(); {
	case types.IsReg(t):
		return []exec.Expr{&exec.CastExpr{X: args[0], To: types.Oid, Mod: -1, Hidden: true}}
	case t == types.Bool, t == types.Record, t == types.UUID, t == types.Bytea,
		types.ElemOf(t) == 0 && !Sortable(t):
		return nil
	}
	return args
}

// severalKinds lists the aggregates with overloads for numbers and other values, or for arrays and items. A literal
// does not choose between them.
var severalKinds = []string{"sum", "avg", "bit_and", "bit_or", "bit_xor", "array_agg"}

// OrderedSet chooses the overload of an aggregate with WITHIN GROUP for its direct and sorted arguments, and casts them
// in place.
func OrderedSet(o *Open, n *ast.Call, direct, sorted []exec.Expr) (*exec.Aggregate, error) {
	candidates := funcs.Aggregates[n.Name[len(n.Name)-1]]
	all := append(slices.Clone(direct), sorted...)
	if candidates[0].Hypothetical {
		if len(direct) != len(sorted) {
			e := sqlstate.From(NoFunction(strings.Join(n.Name, "."), all, n.Pos()))
			return nil, e.WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct "+
				"arguments (here %d) must match the number of ordering columns (here %d).", n.Name[len(n.Name)-1],
				len(direct), len(sorted))
		}
		for i := range direct {
			both, _, err := o.Unify([]exec.Expr{sorted[i], direct[i]}, "WITHIN GROUP", n.Args[i].Pos())
			if err != nil {
				return nil, err
			}
			direct[i], sorted[i] = both[1], both[0]
		}
		return candidates[0], nil
	}
	agg := ChooseAggregate(candidates, all)
	if agg == nil || len(agg.Args)-len(sorted) != len(direct) || len(sorted) != 1 {
		return nil, NoFunction(strings.Join(n.Name, "."), all, n.Pos())
	}
	if Unpolymorphic(all, agg.Args) {
		return nil, Polymorphic(-1)
	}
	all, err := o.CoerceArgs(all, agg.Args, false, n.Pos())
	if err != nil {
		return nil, err
	}
	copy(direct, all)
	copy(sorted, all[len(direct):])
	return agg, nil
}

// NotOrderedSet returns the error for WITHIN GROUP after a function that is no ordered-set aggregate.
func NotOrderedSet(n *ast.Call, args []exec.Expr) error {
	name := n.Name[len(n.Name)-1]
	if ChooseAggregate(funcs.Aggregates[name], args) != nil {
		return sqlstate.New(sqlstate.WrongObjectType,
			"%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name).At(n.Pos())
	}
	if fn, _ := Choose(funcs.Functions[name], args); fn != nil {
		return sqlstate.New(sqlstate.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function",
			name).At(n.Pos())
	}
	return NoFunction(strings.Join(n.Name, "."), args, n.Pos())
}

// AggregateType returns the type of an aggregate's result, and gives min and max their collation.
func AggregateType(n *ast.Call, c *exec.AggCall) (types.OID, error) {
	name, oids := n.Name[len(n.Name)-1], TypesOf(c.Args)
	if name == "min" || name == "max" {
		coll, err := collation.Comparison("<", n.Pos(), c.Args...)
		if err != nil {
			return 0, err
		}
		if !coll.Bytes() {
			c.Agg = aggregates.Collated(c.Agg, coll)
		}
	}
	typ := c.Agg.Ret
	if c.Agg.RetOf != nil {
		typ = c.Agg.RetOf(append(TypesOf(c.Direct), oids...))
	}
	if typ == 0 {
		return 0, NoArray(oids[0], n.Pos())
	}
	return typ, nil
}

package typing

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// CoerceArgs casts arguments to the declared types.
func (o *Open) CoerceArgs(args []exec.Expr, want []types.OID, variadic bool, off int) ([]exec.Expr, error) {
	out := make([]exec.Expr, len(args))
	same, _ := polymorphic(args, want, variadic, exec.AnyElement, types.AnyArray)
	common, _ := polymorphic(args, want, variadic, exec.AnyCompatible, exec.AnyCompatibleArray)
	for i, a := range args {
		w := argType(want, variadic, i)
		switch {
		case w == exec.AnyElement:
			w = same
		case w == exec.AnyCompatible:
			w = common
		case w == types.AnyArray && variadic && i >= len(want)-1 && !Untyped(a):
			w = a.Type()
		case w == types.AnyArray && a.Type() != types.AnyArray && types.ElemOf(a.Type()) == same:
			w = a.Type() // also an int2vector
		case w == types.AnyArray:
			w = types.ArrayOf(same)
		case w == exec.AnyCompatibleArray:
			w = types.ArrayOf(common)
		}
		if w == 0 {
			elem := common
			if argType(want, variadic, i) == types.AnyArray {
				elem = same
			}
			return nil, NoArrayType(elem)
		}
		var err error
		if out[i], err = o.Coerce(a, w, types.Implicit, off); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// polymorphic returns the type that the arguments declared as item, and the items of those declared as array, share;
// false if they do not. Those of anyelement and anyarray must be equal, those of anycompatible have a common type. Each
// array of a variadic function has its own.
func polymorphic(args []exec.Expr, want []types.OID, variadic bool, item, array types.OID) (types.OID, bool) {
	var list []types.OID
	exact, arrays := item == exec.AnyElement, types.OID(0)
	for i, a := range args {
		w, t := argType(want, variadic, i), a.Type()
		switch {
		case Untyped(a), variadic && i >= len(want)-1:
			continue
		case w == array:
			if exact && arrays != 0 && arrays != t {
				return 0, false
			}
			arrays, t = t, types.ElemOf(t)
		case w != item:
			continue
		}
		if exact && len(list) > 0 && list[0] != t {
			return 0, false
		}
		list = append(list, t)
	}
	elem, misfit := common(list)
	if misfit >= 0 {
		return 0, false
	}
	if elem == types.Unknown {
		elem = types.Text
	}
	return elem, true
}

func argType(want []types.OID, variadic bool, i int) types.OID {
	if i < len(want) {
		return want[i]
	}
	if variadic {
		return want[len(want)-1]
	}
	return 0
}

// Score returns how well arguments fit declared types, higher is better; false if they do not fit.
func Score(want []types.OID, variadic bool, args []exec.Expr) (int, bool) {
	if len(args) != len(want) && !(variadic && len(args) >= len(want)) {
		return 0, false
	}
	if _, ok := polymorphic(args, want, variadic, exec.AnyElement, types.AnyArray); !ok {
		return 0, false
	}
	if _, ok := polymorphic(args, want, variadic, exec.AnyCompatible, exec.AnyCompatibleArray); !ok {
		return 0, false
	}
	total := 0
	for i, a := range args {
		w, t := argType(want, variadic, i), a.Type()
		switch {
		case Untyped(a):
			// An open literal fits every type, best text, then the preferred type of a category.
			switch info := types.Lookup(w); {
			case w == types.Text:
				total += 3
			case types.IsString(w):
				total += 2
			case info != nil && info.Prefer:
				total++
			}
			continue
		case w == t:
			total += 10
		case w == exec.AnyValue:
			total++
		case w == exec.AnyElement, w == exec.AnyCompatible:
			total += 2
		case w == types.AnyArray, w == exec.AnyCompatibleArray:
			if types.ElemOf(t) == 0 {
				return 0, false
			}
			total += 2
		case types.CastContext(t, w) == types.Implicit:
			info := types.Lookup(w)
			if info != nil && info.Prefer {
				total += 3
			}
			// The closer of two promotions is better.
			if a, c := NumericRank[t], NumericRank[w]; a > 0 && c > 0 {
				total += 6 - (c - a)
			}
		default:
			return 0, false
		}
	}
	return total, true
}

// Unpolymorphic reports whether the arguments leave the type of anyelement and anyarray open: there are only literals
// for it. PostgreSQL refuses such a call. Parameters are texts.
func Unpolymorphic(args []exec.Expr, want []types.OID) bool {
	open := false
	for i, a := range args {
		if t := argType(want, false, i); t == exec.AnyElement || t == types.AnyArray {
			c, literal := a.(*exec.Const)
			if !literal || c.Typ != types.Unknown {
				return false
			}
			open = true
		}
	}
	return open
}

// Signature returns the name of a function with the types of its arguments.
func Signature(name string, args []exec.Expr) string {
	oids := make([]string, len(args))
	for i, a := range args {
		oids[i] = types.NameOf(a.Type())
	}
	return name + "(" + strings.Join(oids, ", ") + ")"
}

func ReturnType(fn *exec.Func, args []exec.Expr) types.OID {
	if fn.RetOf == nil {
		return fn.Ret
	}
	return fn.RetOf(TypesOf(args))
}

// TypesOf returns the types of expressions.
func TypesOf(list []exec.Expr) []types.OID {
	oids := make([]types.OID, len(list))
	for i, e := range list {
		oids[i] = e.Type()
	}
	return oids
}

// NoFunction returns the error for a call that fits no function.
func NoFunction(name string, args []exec.Expr, off int) error {
	return sqlstate.New(sqlstate.UndefinedFunction, "function %s does not exist", Signature(name, args)).At(off).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// NoNames returns the error for a call with named arguments of a function whose arguments have no names.
func NoNames(n *ast.Call, args []exec.Expr) error {
	list := make([]string, len(args))
	for i, a := range args {
		if named, ok := n.Args[i].(*ast.NamedArg); ok {
			list[i] = named.Name + " => "
		}
		list[i] += types.NameOf(a.Type())
	}
	return sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", strings.Join(n.Name, "."),
		strings.Join(list, ", ")).At(n.Pos()).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// Ambiguous returns the error for a call that fits several functions equally well.
func Ambiguous(name string, args []exec.Expr, off int) error {
	return sqlstate.New(sqlstate.AmbiguousFunction, "function %s is not unique", Signature(name, args)).At(off).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

// NoProcedure returns the error of CALL: there are no procedures, only functions.
func NoProcedure(path []string, args []exec.Expr, off int) error {
	name := path[len(path)-1]
	list := slices.Clone(funcs.Functions[name])
	for _, f := range funcs.TableFuncs[name] {
		list = append(list, &exec.Func{Args: f.Args, Variadic: f.Variadic})
	}
	signature := Signature(strings.Join(path, "."), args)
	for _, f := range list {
		if _, ok := Score(f.Args, f.Variadic, args); ok {
			return sqlstate.New(sqlstate.WrongObjectType, "%s is not a procedure", signature).At(off).
				WithHint("To call a function, use SELECT.")
		}
	}
	return sqlstate.New(sqlstate.UndefinedFunction, "procedure %s does not exist", signature).At(off).
		WithHint("No procedure matches the given name and argument types. You might need to add explicit type casts.")
}

// NoArray returns the error for an array of values of a type that has no array type.
func NoArray(elem types.OID, off int) error {
	if types.ElemOf(elem) != 0 {
		return sqlstate.Unsupported(off, "Use arrays of one dimension, or jsonb.",
			"arrays of several dimensions are not supported")
	}
	return sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(elem)).
		At(off)
}

// NoArrayType returns the error for an argument or result that would be an array of values of a type without one.
func NoArrayType(elem types.OID) error {
	return sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(elem))
}

func OperatorsOf(op string, n int) []*exec.Func {
	var out []*exec.Func
	for _, f := range funcs.Operators[op] {
		if len(f.Args) == n {
			out = append(out, f)
		}
	}
	return out
}

func ChooseAggregate(candidates []*exec.Aggregate, args []exec.Expr) *exec.Aggregate {
	var best *exec.Aggregate
	bestScore := -1
	for _, a := range candidates {
		if s, ok := Score(a.Args, false, args); ok && s > bestScore {
			best, bestScore = a, s
		}
	}
	return best
}

// KeysOf maps the key of each expression to the index of the first expression with that key.
func KeysOf(list []exec.Expr) map[string]int {
	keys := make(map[string]int, len(list))
	for i, e := range list {
		key := exec.Key(e)
		if _, known := keys[key]; !known {
			keys[key] = i
		}
	}
	return keys
}

// Indistinct reports whether a literal could be the argument of one of PostgreSQL's functions for types that are not
// supported: bit strings for bit_count, network addresses for trunc, and ranges for unnest.
func Indistinct(name string, args []exec.Expr) bool {
	return (name == "bit_count" || name == "trunc" || name == "unnest") && len(args) == 1 && Untyped(args[0])
}

// BitString reports whether PostgreSQL takes the literal in a call of get_bit or set_bit for a bit string.
func BitString(name string, args []exec.Expr) bool {
	return (name == "get_bit" || name == "set_bit") && len(args) > 1 && Untyped(args[0]) && args[1].Type() != types.Int8
}

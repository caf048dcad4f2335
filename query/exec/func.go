package exec

import (
	"github.com/divandb/divan/query/types"
)

// Volatility says when a function gives the same value for the same arguments.
type Volatility uint8

const (
	// Immutable functions always do.
	Immutable Volatility = iota
	// Stable functions do within a statement.
	Stable
	// Volatile functions do not, and are never computed ahead.
	Volatile
)

// Func is a function or an operator over scalars.
type Func struct {
	Name string
	Args []types.OID
	// Variadic says that the last argument type repeats.
	Variadic bool
	Ret      types.OID
	// RetOf gives the result type where it depends on the arguments.
	RetOf func(args []types.OID) types.OID
	// Names are those of the arguments, where they may be given by name, and Defaults what those are that are not
	// given; what has no default is not in it, from the front.
	Names    []string
	Defaults []types.Datum
	// NullArgs says that the function wants to see NULLs; without it any NULL gives NULL.
	NullArgs   bool
	Volatility Volatility
	// Collation is set for a comparison whose order is not that of bytes, so that no key range stands for it.
	Collation *types.Collation
	Eval      func(env *CallEnv, args []types.Datum) (types.Datum, error)
}

// Pseudo types of arguments, resolved by the arguments of a call.
const (
	AnyElement types.OID = 2283 // one type for all of them
	AnyValue   types.OID = 2276 // "any": each of its own type
)

// RecordField is (record).name: the field's number is in the call's second argument, a constant.
var RecordField = &Func{Name: "field", Eval: func(_ *CallEnv, a []types.Datum) (types.Datum, error) {
	items := a[0].Array().Items
	if a[1].I >= int64(len(items)) {
		return types.Null, nil
	}
	return items[a[1].I], nil
}}

package exec

import (
	"github.com/divandb/divan/query/types"
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
	// NullArgs says that the function wants to see NULLs; without it any NULL gives NULL.
	NullArgs bool
	// Volatile functions are never computed ahead.
	Volatile bool
	// Collation is set for a comparison whose order is not that of bytes, so that no key range stands for it.
	Collation *types.Collation
	Eval      func(env *CallEnv, args []types.Datum) (types.Datum, error)
}

// Pseudo types of arguments, resolved by the arguments of a call.
const (
	AnyElement types.OID = 2283 // one type for all of them
	AnyValue   types.OID = 2276 // "any": each of its own type
)

// Functions is the registry of scalar functions by name, Operators of operators by symbol (prefix operators have one argument).
// They are filled at init and not changed afterwards.
var (
	Functions  = map[string][]*Func{}
	Operators  = map[string][]*Func{}
	TableFuncs = map[string][]*TableFunc{}
	Aggregates = map[string][]*Aggregate{}
)

// RecordField is (record).name: the field's number is in the call's second argument, a constant.
var RecordField = &Func{Name: "field", Eval: func(_ *CallEnv, a []types.Datum) (types.Datum, error) {
	items := a[0].Array().Items
	if a[1].I >= int64(len(items)) {
		return types.Null, nil
	}
	return items[a[1].I], nil
}}

type evalFunc = func(*CallEnv, []types.Datum) (types.Datum, error)

func register(name string, ret types.OID, f evalFunc, args ...types.OID) *Func {
	fn := &Func{Name: name, Args: args, Ret: ret, Eval: f}
	Functions[name] = append(Functions[name], fn)
	return fn
}

func operator(symbol string, ret types.OID, f evalFunc, args ...types.OID) *Func {
	fn := &Func{Name: symbol, Args: args, Ret: ret, Eval: f}
	Operators[symbol] = append(Operators[symbol], fn)
	return fn
}

// Register adds a function of another package at its init.
func Register(f *Func) { Functions[f.Name] = append(Functions[f.Name], f) }

// RegisterTable adds a function that returns rows.
func RegisterTable(f *TableFunc) { TableFuncs[f.Name] = append(TableFuncs[f.Name], f) }

package exec

import (
	"github.com/divandb/divan/query/types"
)

// Volatility says when a function returns the same value for the same arguments.
type Volatility uint8

const (
	// Immutable functions always do.
	Immutable Volatility = iota
	// Stable functions do within a statement.
	Stable
	// Volatile functions do not, and are never evaluated in advance.
	Volatile
)

// Func is a function or an operator on scalars.
type Func struct {
	Name string
	Args []types.OID
	// Variadic reports whether the last argument type repeats.
	Variadic bool
	Ret      types.OID
	// RetOf returns the result type if it depends on the arguments.
	RetOf func(args []types.OID) types.OID
	// Names are the names of the arguments if they may be named. Defaults are the values of the last of them; the first
	// ones have no default.
	Names    []string
	Defaults []types.Datum
	// NullArgs reports whether the function handles NULL. Otherwise any NULL argument gives NULL.
	NullArgs   bool
	Volatility Volatility
	// Collation is set for a comparison in another order than that of bytes, which cannot become a key range.
	Collation *types.Collation
	// Eval computes the value. The arguments are valid until it returns; their texts may be kept.
	Eval func(env *CallEnv, args []types.Datum) (types.Datum, error)
	// Direct, if not nil, is Eval for two arguments that are not NULL, without the environment of a call, which costs
	// more than the operators that most conditions and select lists consist of. ok is false if Eval has to be called.
	// It does so for long arguments, whose time and memory are counted, and its values are short.
	Direct func(s *State, a, b types.Datum) (d types.Datum, ok bool)
	// Member says that the function returns a member of its first argument, an object, and so needs no call at all.
	Member MemberForm
}

// DirectLength is the length of texts and documents that Direct functions, and those with a MemberForm, leave to Eval.
const DirectLength = 4 << 10

// MemberForm is what a function returns of a member.
type MemberForm uint8

// The forms of members.
const (
	NoMember    MemberForm = iota // the function does something else
	MemberValue                   // the value
	MemberText                    // the text of the value of a json
	MemberTextB                   // the text of the value of a jsonb
)

// Pseudo types of arguments, resolved by the arguments of a call.
const (
	AnyElement types.OID = 2283 // the same type for all of them, and the item's of those that are AnyArray
	AnyValue   types.OID = 2276 // "any": any type for each
	// AnyCompatible and AnyCompatibleArray are AnyElement and AnyArray of types that may differ, but have a common one.
	AnyCompatible      types.OID = 5077
	AnyCompatibleArray types.OID = 5078
)

// RecordField is (record).name. The call's second argument is a constant, the number of the field.
var RecordField = &Func{Name: "field", Eval: func(_ *CallEnv, a []types.Datum) (types.Datum, error) {
	items := a[0].Array().Items
	if a[1].I >= int64(len(items)) {
		return types.Null, nil
	}
	return items[a[1].I], nil
}}

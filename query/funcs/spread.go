package funcs

import (
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Spread returns fn, a variadic function, for calls such as concat(VARIADIC ARRAY[1, 2]): the items of the array in the
// last argument are the arguments from there on. If it is NULL so is the result, unless fn is defined for NULL as for
// no items (spreadNull).
func Spread(fn *exec.Func, spreadNull bool) *exec.Func {
	last := len(fn.Args) - 1
	out := *fn
	out.NullArgs = true
	out.Eval = func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		var items []types.Datum
		switch {
		case !a[last].IsNull():
			items = a[last].Array().Items
		case !spreadNull:
			return types.Null, nil
		}
		if err := env.Making(int64(len(items)) * (exec.DatumSize + 16)); err != nil {
			return types.Null, err
		}
		args := slices.Concat(a[:last], items)
		if !fn.NullArgs && slices.ContainsFunc(args, types.Datum.IsNull) {
			return types.Null, nil
		}
		elem := exec.NullOf(types.ElemOf(env.ArgType(last)))
		call := *env.Call
		call.Func, call.Args = fn, slices.Clone(call.Args[:last])
		for range items {
			call.Args = append(call.Args, elem)
		}
		return (&exec.CallEnv{Env: env.Env, Call: &call}).Apply(args)
	}
	return &out
}

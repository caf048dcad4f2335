package funcs

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// ArrayItem is a[i], ArraySlice is a[i:j].
var (
	ArrayItem = &exec.Func{Name: "array_item", Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		arr := a[0].Array()
		i := a[1].I - int64(arr.Lower)
		if i < 0 || i >= int64(len(arr.Items)) {
			return types.Null, nil
		}
		return arr.Items[i], nil
	}}
	ArraySlice = &exec.Func{Name: "array_slice",
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			arr := a[0].Array()
			from := max(a[1].I-int64(arr.Lower), 0)
			to := min(a[2].I-int64(arr.Lower)+1, int64(len(arr.Items)))
			if from >= to {
				return types.NewArray(arr.Elem, nil), nil
			}
			return types.NewArray(arr.Elem, arr.Items[from:to]), nil
		}}
)

// ArrayConcat, ArrayAppend and ArrayPrepend are the operator || of arrays and items of one element type.
var (
	ArrayConcat  = &exec.Func{Name: "array_cat", NullArgs: true, Eval: arrayCat}
	ArrayAppend  = &exec.Func{Name: "array_append", NullArgs: true, Eval: arrayAppend}
	ArrayPrepend = &exec.Func{Name: "array_prepend", NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return arrayPrepend(env, types.ElemOf(env.ArgType(1)), a)
		}}
	// ArrayDeep is a[i][j] where one subscript is a range. It returns an empty array, because arrays have one
	// dimension.
	ArrayDeep = &exec.Func{Name: "array_deep", Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewArray(a[0].Array().Elem, nil), nil
	}}
	// ArrayNothing is a[i][j]. It returns NULL, because arrays have one dimension.
	ArrayNothing = &exec.Func{Name: "array_nothing", Eval: func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.Null, nil
	}}
)

func init() {
	ArrayFamily.Function("array_length", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if n := len(a[0].Array().Items); n > 0 && a[1].I == 1 {
			return types.NewInt(int64(n)), nil
		}
		return types.Null, nil
	}, types.AnyArray, types.Int4)
	ArrayFamily.Function("cardinality", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(len(a[0].Array().Items))), nil
	}, types.AnyArray)
	bound := func(name string, f func(*types.Array) int) {
		ArrayFamily.Function(name, types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if len(a[0].Array().Items) == 0 || a[1].I != 1 {
				return types.Null, nil
			}
			return types.NewInt(int64(f(a[0].Array()))), nil
		}, types.AnyArray, types.Int4)
	}
	bound("array_lower", func(a *types.Array) int { return a.Lower })
	bound("array_upper", func(a *types.Array) int { return a.Lower + len(a.Items) - 1 })
	toString := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() || a[1].IsNull() {
			return types.Null, nil
		}
		arr := a[0].Array()
		var out []byte
		first := true
		for _, it := range arr.Items {
			text, err := "", error(nil)
			switch {
			case !it.IsNull():
				if text, err = env.TextOf(it, arr.Elem); err != nil {
					return types.Null, err
				}
			case len(a) > 2 && !a[2].IsNull():
				text = a[2].S
			default:
				continue
			}
			if err := env.Room(int64(len(out) + len(a[1].S) + len(text))); err != nil {
				return types.Null, err
			}
			if !first {
				out = append(out, a[1].S...)
			}
			first = false
			out = append(out, text...)
		}
		return types.NewText(string(out)), nil
	}
	ArrayFamily.Add(&exec.Func{Name: "array_to_string", Args: []types.OID{types.AnyArray, types.Text}, Ret: types.Text,
		NullArgs: true, Eval: toString})
	ArrayFamily.Add(&exec.Func{Name: "array_to_string", Args: []types.OID{types.AnyArray, types.Text, types.Text},
		Ret: types.Text, NullArgs: true, Eval: toString})
	toArray := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.Null, nil
		}
		if !a[1].IsNull() && a[1].S == "" {
			return types.NewArray(types.Text, splitText(a)), nil
		}
		if err := env.Making(int64(strings.Count(a[0].S, a[1].S)) * (exec.DatumSize + 16)); err != nil {
			return types.Null, err
		}
		return types.NewArray(types.Text, splitText(a)), nil
	}
	for _, args := range [][]types.OID{{types.Text, types.Text}, {types.Text, types.Text, types.Text}} {
		ArrayFamily.Function("string_to_array", types.TextArray, toArray, args...).NullArgs = true
	}
	same := func(args []types.OID) types.OID { return args[0] }
	ArrayFamily.Add(&exec.Func{Name: "array_append", Args: []types.OID{exec.AnyCompatibleArray, exec.AnyCompatible},
		RetOf: same, NullArgs: true, Eval: arrayAppend})
	ArrayFamily.Add(&exec.Func{Name: "array_cat", Args: []types.OID{exec.AnyCompatibleArray, exec.AnyCompatibleArray},
		RetOf: same, NullArgs: true, Eval: arrayCat})
	ArrayFamily.Add(&exec.Func{Name: "array_remove", Args: []types.OID{exec.AnyCompatibleArray, exec.AnyCompatible},
		RetOf: same, NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if a[0].IsNull() {
				return types.Null, nil
			}
			arr := a[0].Array()
			if err := env.Fits(int64(len(arr.Items)) * exec.DatumSize); err != nil {
				return types.Null, err
			}
			var items []types.Datum
			for _, it := range arr.Items {
				same := it.IsNull() && a[1].IsNull()
				if !it.IsNull() && !a[1].IsNull() {
					var err error
					if same, err = env.Equal(it, a[1]); err != nil {
						return types.Null, err
					}
				}
				if !same {
					items = append(items, it)
				}
			}
			return arrayFrom(arr.Lower, arr.Elem, items), nil
		}})
	arrayOperators()
	arrayTables()
}

func arrayCat(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	switch {
	case a[0].IsNull():
		return a[1], nil
	case a[1].IsNull():
		return a[0], nil
	}
	x, y := a[0].Array(), a[1].Array()
	if err := env.Fits(int64(len(x.Items)+len(y.Items)) * exec.DatumSize); err != nil {
		return types.Null, err
	}
	items := append(append(make([]types.Datum, 0, len(x.Items)+len(y.Items)), x.Items...), y.Items...)
	lower := x.Lower
	if len(x.Items) == 0 {
		lower = y.Lower
	}
	return arrayFrom(lower, x.Elem, items), nil
}

// arrayFrom returns an array with the given lower bound.
func arrayFrom(lower int, elem types.OID, items []types.Datum) types.Datum {
	d := types.NewArray(elem, items)
	if len(items) > 0 {
		d.Array().Lower = lower
	}
	return d
}

// arrayPrepend adds an item at the beginning of an array and keeps its lower bound.
func arrayPrepend(env *exec.CallEnv, elem types.OID, a []types.Datum) (types.Datum, error) {
	front := types.NewArray(elem, []types.Datum{a[0]})
	if !a[1].IsNull() && len(a[1].Array().Items) > 0 {
		front.Array().Lower = a[1].Array().Lower
	}
	return arrayCat(env, []types.Datum{front, a[1]})
}

// arrayAppend appends an item to an array. The array may be NULL.
func arrayAppend(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.NewArray(types.ElemOf(env.ArgType(0)), []types.Datum{a[1]}), nil
	}
	arr := a[0].Array()
	lower := arr.Lower
	if len(arr.Items) == 0 {
		lower = 1
	}
	return arrayFrom(lower, arr.Elem, append(append(make([]types.Datum, 0, len(arr.Items)+1), arr.Items...), a[1])), nil
}

func arrayOperators() {
	add := func(f *exec.Func) { ArrayFamily.addOperator(f) }
	within := func(env *exec.CallEnv, x, y types.Datum) (bool, error) {
		for _, it := range x.Array().Items {
			if err := env.Step(1 + len(y.Array().Items)/8); err != nil {
				return false, err
			}
			found := false
			for _, o := range y.Array().Items {
				if it.IsNull() || o.IsNull() {
					continue
				}
				same, err := env.Equal(it, o)
				if err != nil {
					return false, err
				}
				found = found || same
			}
			if !found {
				return false, nil
			}
		}
		return true, nil
	}
	add(&exec.Func{Name: "@>", Args: []types.OID{types.AnyArray, types.AnyArray}, Ret: types.Bool,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			ok, err := within(env, a[1], a[0])
			return types.NewBool(ok), err
		}})
	add(&exec.Func{Name: "<@", Args: []types.OID{types.AnyArray, types.AnyArray}, Ret: types.Bool,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			ok, err := within(env, a[0], a[1])
			return types.NewBool(ok), err
		}})
	add(&exec.Func{Name: "&&", Args: []types.OID{types.AnyArray, types.AnyArray}, Ret: types.Bool,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			for _, it := range a[0].Array().Items {
				ok, err := within(env, types.NewArray(a[0].Array().Elem, []types.Datum{it}), a[1])
				if ok || err != nil {
					return types.NewBool(ok), err
				}
			}
			return types.NewBool(false), nil
		}})
	ArrayFamily.Operator("||", types.JSONB, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := types.JSONConcat(a[0].S, a[1].S, func(n int) error { return FitsText(env, n) })
		return types.NewJSONText(s), err
	}, types.JSONB, types.JSONB)
}

// streamItems returns a row for each item of the first argument.
func streamItems(row func(a *types.Array, i int, it types.Datum) []types.Datum) func([]types.Datum) (
	func() []types.Datum, error) {
	return func(args []types.Datum) (func() []types.Datum, error) {
		arr, at := args[0].Array(), 0
		return func() []types.Datum {
			if at == len(arr.Items) {
				return nil
			}
			at++
			return row(arr, at-1, arr.Items[at-1])
		}, nil
	}
}

// subscripts is generate_subscripts. Arrays have one dimension; the others have no subscripts.
func subscripts(a []types.Datum) (func() []types.Datum, error) {
	arr := a[0].Array()
	n, at, step := len(arr.Items), arr.Lower, 1
	if a[1].I != 1 {
		n = 0
	}
	if len(a) > 2 && a[2].I != 0 {
		at, step = arr.Lower+n-1, -1
	}
	return func() []types.Datum {
		if n == 0 {
			return nil
		}
		row := []types.Datum{types.NewInt(int64(at))}
		at += step
		n--
		return row
	}, nil
}

func arrayTables() {
	// Several arrays are expanded in parallel. Shorter ones are filled up with NULL.
	ArrayFamily.AddTable(&exec.TableFunc{Name: "unnest", Args: []types.OID{types.AnyArray}, Variadic: true,
		NullArgs: true,
		Columns: func(args []types.OID) []exec.Column {
			cols := make([]exec.Column, len(args))
			for i, a := range args {
				cols[i] = exec.Column{Name: "unnest", Type: types.ElemOf(a), Mod: -1}
			}
			return cols
		},
		Stream: func(a []types.Datum) (func() []types.Datum, error) {
			at := -1
			return func() []types.Datum {
				at++
				row, any := make([]types.Datum, len(a)), false
				for i, d := range a {
					if !d.IsNull() && at < len(d.Array().Items) {
						row[i], any = d.Array().Items[at], true
					}
				}
				if !any {
					return nil
				}
				return row
			}, nil
		}})
	ArrayFamily.AddTable(&exec.TableFunc{Name: "_pg_expandarray", Args: []types.OID{types.AnyArray},
		Columns: func(args []types.OID) []exec.Column {
			return []exec.Column{{Name: "x", Type: types.ElemOf(args[0]), Mod: -1},
				{Name: "n", Type: types.Int4, Mod: -1}}
		},
		Stream: streamItems(func(_ *types.Array, i int, it types.Datum) []types.Datum {
			return []types.Datum{it, types.NewInt(int64(i + 1))}
		})})
	for _, args := range [][]types.OID{{types.AnyArray, types.Int4}, {types.AnyArray, types.Int4, types.Bool}} {
		ArrayFamily.AddTable(&exec.TableFunc{Name: "generate_subscripts", Args: args,
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "generate_subscripts", Type: types.Int4, Mod: -1}}
			},
			Stream: subscripts})
	}
	for _, t := range []types.OID{types.Int4, types.Int8} {
		series := func(a []types.Datum) (func() []types.Datum, error) {
			step := int64(1)
			if len(a) > 2 {
				step = a[2].I
			}
			if step == 0 {
				return nil, sqlstate.New(sqlstate.InvalidParameterValue, "step size cannot equal zero")
			}
			at, end, done := a[0].I, a[1].I, false
			return func() []types.Datum {
				if done || step > 0 && at > end || step < 0 && at < end {
					return nil
				}
				row := []types.Datum{types.NewInt(at)}
				// The addition may overflow after the last value.
				next := at + step
				done = (next > at) != (step > 0)
				at = next
				return row
			}, nil
		}
		cols := func([]types.OID) []exec.Column { return []exec.Column{{Name: "generate_series", Type: t, Mod: -1}} }
		ArrayFamily.AddTable(&exec.TableFunc{Name: "generate_series", Args: []types.OID{t, t}, Columns: cols,
			Stream: series})
		ArrayFamily.AddTable(&exec.TableFunc{Name: "generate_series", Args: []types.OID{t, t, t}, Columns: cols,
			Stream: series})
	}
	for _, args := range [][]types.OID{{types.Text, types.Text}, {types.Text, types.Text, types.Text}} {
		ArrayFamily.AddTable(&exec.TableFunc{Name: "string_to_table", Args: args, NullArgs: true,
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "string_to_table", Type: types.Text, Mod: -1}}
			},
			Rows: func(env *exec.Env, _ []types.OID, a []types.Datum) ([][]types.Datum, error) {
				if a[0].IsNull() {
					return nil, nil
				}
				if err := env.Fits(int64(strings.Count(a[0].S, a[1].S)) * (exec.DatumSize + 40)); err != nil {
					return nil, err
				}
				items := splitText(a)
				rows := make([][]types.Datum, len(items))
				for i := range items {
					rows[i] = items[i : i+1 : i+1]
				}
				return rows, nil
			}})
	}
}

// splitText divides a text at a separator: at none if it is empty, and between all characters if it is NULL. The third
// argument is a part that becomes NULL.
func splitText(a []types.Datum) []types.Datum {
	if a[0].S == "" {
		return nil
	}
	parts := []string{a[0].S}
	if a[1].IsNull() || a[1].S != "" {
		parts = strings.Split(a[0].S, a[1].S)
	}
	items := make([]types.Datum, len(parts))
	for i, p := range parts {
		if len(a) < 3 || a[2].IsNull() || p != a[2].S {
			items[i] = types.NewText(p)
		}
	}
	return items
}

package funcs

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func init() {
	same := func(args []types.OID) types.OID { return args[0] }
	array, elem := types.AnyArray, exec.AnyElement
	compatible, item := exec.AnyCompatibleArray, exec.AnyCompatible
	ArrayFamily.Add(
		&exec.Func{Name: "array_positions", Args: []types.OID{compatible, item}, Ret: types.Int4Array, NullArgs: true,
			Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				if a[0].IsNull() {
					return types.Null, nil
				}
				var items []types.Datum
				for i, it := range a[0].Array().Items {
					same, err := sameItem(env, it, a[1])
					if err != nil {
						return types.Null, err
					}
					if same {
						items = append(items, types.NewInt(int64(i+a[0].Array().Lower)))
					}
				}
				return types.NewArray(types.Int4, items), nil
			}},
	)
	ArrayFamily.Add(&exec.Func{Name: "array_replace", Args: []types.OID{compatible, item, item}, RetOf: same,
		NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if a[0].IsNull() {
				return types.Null, nil
			}
			arr := a[0].Array()
			if err := env.Making(int64(len(arr.Items)) * exec.DatumSize); err != nil {
				return types.Null, err
			}
			items := make([]types.Datum, len(arr.Items))
			for i, it := range arr.Items {
				same, err := sameItem(env, it, a[1])
				if err != nil {
					return types.Null, err
				}
				if items[i] = it; same {
					items[i] = a[2]
				}
			}
			return arrayFrom(arr.Lower, arr.Elem, items), nil
		}})
	ArrayFamily.Add(&exec.Func{Name: "array_prepend", Args: []types.OID{item, compatible},
		RetOf: func(args []types.OID) types.OID { return args[1] }, NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return arrayPrepend(env, env.ArgType(0), a)
		}})
	ArrayFamily.Add(&exec.Func{Name: "trim_array", Args: []types.OID{array, types.Int4}, RetOf: same,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			arr := a[0].Array()
			if a[1].I < 0 || a[1].I > int64(len(arr.Items)) {
				return types.Null, sqlstate.New(
					sqlstate.ArraySubscriptError,
					"number of elements to trim must be between 0 and %d",
					len(arr.Items),
				)
			}
			return types.NewArray(arr.Elem, arr.Items[:len(arr.Items)-int(a[1].I)]), nil
		}})
	ArrayFamily.Add(&exec.Func{Name: "array_dims", Args: []types.OID{array}, Ret: types.Text,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			arr := a[0].Array()
			if len(arr.Items) == 0 {
				return types.Null, nil
			}
			return types.NewText(fmt.Sprintf("[%d:%d]", arr.Lower, arr.Lower+len(arr.Items)-1)), nil
		}})
	ArrayFamily.Add(&exec.Func{Name: "array_ndims", Args: []types.OID{array}, Ret: types.Int4,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if len(a[0].Array().Items) == 0 {
				return types.Null, nil
			}
			return types.NewInt(1), nil
		}})
	for _, args := range [][]types.OID{{elem, types.Int4Array}, {elem, types.Int4Array, types.Int4Array}} {
		ArrayFamily.Add(&exec.Func{Name: "array_fill", Args: args, NullArgs: true, Ret: types.AnyArray,
			RetOf: func(args []types.OID) types.OID { return types.ArrayOf(args[0]) }, Eval: fillArray})
	}
	for _, args := range [][]types.OID{{compatible, item}, {compatible, item, types.Int4}} {
		ArrayFamily.Add(&exec.Func{Name: "array_position", Args: args, Ret: types.Int4, NullArgs: true,
			Eval: arrayPosition})
	}
	TextFamily.Function("unistr", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := unescape(a[0].S)
		return types.NewText(s), err
	}, types.Text)
}

// arrayPosition finds an item, which may be NULL, from a given position on.
func arrayPosition(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	arr := a[0].Array()
	from := 0
	if len(arr.Items) == 0 || a[1].IsNull() && !slices.ContainsFunc(arr.Items, types.Datum.IsNull) {
		return types.Null, nil // without a look at the third argument
	}
	if len(a) > 2 {
		if a[2].IsNull() {
			return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "initial position must not be null")
		}
		from = max(0, int(a[2].I)-arr.Lower)
	}
	for i := from; i < len(arr.Items); i++ {
		if same, err := sameItem(env, arr.Items[i], a[1]); err != nil || same {
			return types.NewInt(int64(i + arr.Lower)), err
		}
	}
	return types.Null, nil
}

func sameItem(env *exec.CallEnv, a, b types.Datum) (bool, error) {
	if a.IsNull() || b.IsNull() {
		return a.IsNull() && b.IsNull(), nil
	}
	return env.Equal(a, b)
}

func fillArray(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() || len(a) > 2 && a[2].IsNull() {
		return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "dimension array or low bound array cannot be null")
	}
	dims, lower := a[1].Array().Items, 1
	if len(a) > 2 {
		lows := a[2].Array().Items
		if len(lows) != len(dims) {
			return types.Null, sqlstate.New(sqlstate.ArraySubscriptError, "wrong number of array subscripts").
				WithDetail("Low bound array has different size than dimensions array.")
		}
		if slices.ContainsFunc(lows, types.Datum.IsNull) {
			return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "dimension values cannot be null")
		}
		if len(lows) > 0 {
			lower = int(lows[0].I)
		}
	}
	switch {
	case len(dims) == 0:
		return types.NewArray(env.ArgType(0), nil), nil
	case len(dims) > 1:
		return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "arrays of several dimensions are not supported").
			WithHint("Use arrays of one dimension.")
	case dims[0].IsNull():
		return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "dimension values cannot be null")
	case dims[0].I < 0 || dims[0].I > 100_000_000:
		return types.Null, sqlstate.New(
			sqlstate.ProgramLimitExceeded,
			"array size exceeds the maximum allowed (134217727)",
		)
	}
	n := int(dims[0].I)
	if err := env.Making(int64(n) * exec.DatumSize); err != nil {
		return types.Null, err
	}
	items := make([]types.Datum, n)
	for i := range items {
		items[i] = a[0]
	}
	return arrayFrom(lower, env.ArgType(0), items), nil
}

// unescape is unistr: it replaces \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX by the character of that number. Two halves of
// a surrogate pair are one character.
func unescape(s string) (string, error) {
	var out []rune
	runes := []rune(s)
	var high rune // the first half of a pair
	bad := sqlstate.New(sqlstate.SyntaxError, "invalid Unicode surrogate pair")
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		escaped := r == '\\' && (i+1 == len(runes) || runes[i+1] != '\\')
		switch {
		case escaped:
			var n int
			var err error
			if r, n, err = escapedRune(runes[i+1:]); err != nil {
				return "", err
			}
			i += n
		case r == '\\':
			i++
		}
		low := escaped && r >= 0xDC00 && r <= 0xDFFF
		switch {
		case (high != 0) != low:
			return "", bad
		case low:
			r, high = utf16.DecodeRune(high, r), 0
		case escaped && utf16.IsSurrogate(r):
			high = r
			continue
		}
		out = append(out, r)
	}
	if high != 0 {
		return "", bad
	}
	return string(out), nil
}

// escapedRune reads what follows a backslash, and returns how long it is.
func escapedRune(rest []rune) (r rune, size int, err error) {
	skip, n := 0, 4
	switch {
	case len(rest) > 0 && rest[0] == '+':
		skip, n = 1, 6
	case len(rest) > 0 && rest[0] == 'u':
		skip = 1
	case len(rest) > 0 && rest[0] == 'U':
		skip, n = 1, 8
	}
	invalid := sqlstate.New(sqlstate.SyntaxError, "invalid Unicode escape").
		WithHint(`Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX.`)
	if len(rest) < skip+n {
		return 0, 0, invalid
	}
	v, err := strconv.ParseUint(string(rest[skip:skip+n]), 16, 32)
	switch {
	case err != nil:
		return 0, 0, invalid
	case v == 0 || v > utf8.MaxRune:
		return 0, 0, sqlstate.New(sqlstate.InvalidParameterValue, "invalid Unicode code point: %04X", v)
	}
	return rune(v), skip + n, nil
}

package texts

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// characters adds the functions that return parts of a text by position.
func characters() {
	substr := func(s string, from, count int64, bounded bool) (types.Datum, error) {
		if bounded && count < 0 {
			return types.Null, sqlstate.New(sqlstate.SubstringError, "negative substring length not allowed")
		}
		first, last := max(from, 1), int64(math.MaxInt64)
		if bounded && from <= math.MaxInt64-count {
			last = from + count
		}
		if first >= last {
			return types.NewText(""), nil
		}
		start, end, at := len(s), len(s), int64(1)
		for i := range s {
			if at == first {
				start = i
			}
			if at == last {
				end = i
				break
			}
			at++
		}
		return types.NewText(s[min(start, end):end]), nil
	}
	for _, name := range []string{"substr", "substring"} {
		funcs.TextFamily.Function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return substr(a[0].S, a[1].I, 0, false)
		}, types.Text, types.Int4)
		funcs.TextFamily.Function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return substr(a[0].S, a[1].I, a[2].I, true)
		}, types.Text, types.Int4, types.Int4)
	}
	funcs.TextFamily.Function("left", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := a[1].I
		if n < 0 {
			n = max(int64(utf8.RuneCountInString(a[0].S))+n, 0)
		}
		return substr(a[0].S, 1, n, true)
	}, types.Text, types.Int4)
	funcs.TextFamily.Function("right", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		total := int64(utf8.RuneCountInString(a[0].S))
		n := a[1].I
		if n < 0 {
			n = max(total+n, 0)
		}
		return substr(a[0].S, total-n+1, 0, false)
	}, types.Text, types.Int4)
	for _, name := range []string{"strpos", "position"} {
		funcs.TextFamily.Function(name, types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			i := strings.Index(a[0].S, a[1].S)
			if i < 0 {
				return types.NewInt(0), nil
			}
			return types.NewInt(int64(utf8.RuneCountInString(a[0].S[:i])) + 1), nil
		}, types.Text, types.Text)
	}
	funcs.TextFamily.Function("starts_with", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)), nil
	}, types.Text, types.Text)
	funcs.TextFamily.Function("split_part", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := a[2].I
		if n == 0 {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "field position must not be zero")
		}
		parts := []string{a[0].S}
		if a[1].S != "" {
			if err := env.Fits(int64(strings.Count(a[0].S, a[1].S)) * 16); err != nil {
				return types.Null, err
			}
			parts = strings.Split(a[0].S, a[1].S)
		}
		if n < 0 {
			n += int64(len(parts)) + 1
		}
		if n < 1 || n > int64(len(parts)) {
			return types.NewText(""), nil
		}
		return types.NewText(parts[n-1]), nil
	}, types.Text, types.Text, types.Int4)
}

package texts

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// replaces adds the functions that replace, repeat or pad texts.
func replaces() {
	funcs.TextFamily.Function("replace", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[1].S == "" {
			return a[0], nil
		}
		if err := funcs.FitsText(env, len(a[0].S)+strings.Count(a[0].S, a[1].S)*(len(a[2].S)-len(a[1].S))); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.ReplaceAll(a[0].S, a[1].S, a[2].S)), nil
	}, types.Text, types.Text, types.Text)
	funcs.TextFamily.Function("repeat", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := max(a[1].I, 0)
		if err := funcs.FitsText(env, int(n)*len(a[0].S)); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.Repeat(a[0].S, int(n))), nil
	}, types.Text, types.Int4)
	funcs.TextFamily.Function("translate", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		become, to := map[rune]rune{}, a[2].S
		for _, f := range a[1].S {
			t, n := rune(-1), 0
			if to != "" {
				t, n = utf8.DecodeRuneInString(to)
				to = to[n:]
			}
			if _, known := become[f]; !known { // if a character is listed twice, the first one counts
				become[f] = t
			}
		}
		translate := func(r rune) rune {
			if t, ok := become[r]; ok {
				return t
			}
			return r
		}
		n := 0
		for _, r := range a[0].S {
			n += max(utf8.RuneLen(translate(r)), 0)
		}
		if err := funcs.FitsText(env, n); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.Map(translate, a[0].S)), nil
	}, types.Text, types.Text, types.Text)
	replace := func(env *exec.CallEnv, a []types.Datum, flags string) (types.Datum, error) {
		re, global, err := regexpFlags(env.State, a[1].S, flags)
		if err != nil {
			return types.Null, err
		}
		n := int64(1)
		if global {
			n = 0
		}
		return re.replace(env, a[0].S, 0, n, a[2].S)
	}
	funcs.TextFamily.Function("regexp_replace", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return replace(env, a, "")
		}, types.Text, types.Text, types.Text)
	funcs.TextFamily.Function("regexp_replace", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := replace(env, a, a[3].S)
			var e *sqlstate.Error
			if errors.As(err, &e) && e.Code == sqlstate.InvalidParameterValue && isDigit(a[3].S) {
				err = e.WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth " +
					"argument to integer explicitly.")
			}
			return d, err
		}, types.Text, types.Text, types.Text, types.Text)
	from := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n, start, flags := intAt(a, 4, 1), a[3].I, textAt(a, 5)
		switch {
		case start < 1:
			return types.Null, badArgument("start", start)
		case n < 0:
			return types.Null, badArgument("n", n)
		case strings.Contains(flags, "g") && len(a) < 5:
			n = 0
		}
		at := 0
		for ; start > 1 && at < len(a[0].S); start-- {
			_, size := utf8.DecodeRuneInString(a[0].S[at:])
			at += size
		}
		re, _, err := regexpFlags(env.State, a[1].S, flags)
		switch {
		case err != nil:
			return types.Null, err
		case start > 1:
			return a[0], nil
		}
		return re.replace(env, a[0].S, at, n, a[2].S)
	}
	for k := 4; k <= 6; k++ {
		funcs.TextFamily.Function("regexp_replace", types.Text, from,
			[]types.OID{types.Text, types.Text, types.Text, types.Int4, types.Int4, types.Text}[:k:k]...)
	}
	pad := func(env *exec.CallEnv, a []types.Datum, fill string, left bool) (types.Datum, error) {
		have, n := utf8.RuneCountInString(a[0].S), int(max(a[1].I, 0))
		if have >= n || fill == "" {
			for i := range a[0].S {
				if n--; n < 0 {
					return types.NewText(a[0].S[:i]), nil
				}
			}
			return a[0], nil
		}
		more, letters := n-have, utf8.RuneCountInString(fill)
		if err := funcs.FitsText(env, len(a[0].S)+(more/letters+1)*len(fill)); err != nil {
			return types.Null, err
		}
		var b strings.Builder
		if !left {
			b.WriteString(a[0].S)
		}
		b.WriteString(strings.Repeat(fill, more/letters))
		rest := more % letters
		for _, r := range fill {
			if rest--; rest < 0 {
				break
			}
			b.WriteRune(r)
		}
		if left {
			b.WriteString(a[0].S)
		}
		return types.NewText(b.String()), nil
	}
	for name, left := range map[string]bool{"lpad": true, "rpad": false} {
		funcs.TextFamily.Function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return pad(env, a, " ", left)
		}, types.Text, types.Int4)
		funcs.TextFamily.Function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return pad(env, a, a[2].S, left)
		}, types.Text, types.Int4, types.Text)
	}
}

// isDigit reports whether a text begins with a digit.
func isDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

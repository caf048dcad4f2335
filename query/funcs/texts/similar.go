package texts

import (
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// escapeOf returns the character of an ESCAPE clause, negative if it disables escapes.
func escapeOf(s string) (rune, error) {
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) {
		return 0, sqlstate.New(sqlstate.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	if n == 0 {
		return -1, nil
	}
	return r, nil
}

// similar converts a pattern of SIMILAR TO to a regular expression. If the escape character and a double quote divide
// the pattern in three, the first part matches as little as possible, and the second is a group that matches as much as
// possible.
func similar(p string, esc rune) (string, error) {
	var b strings.Builder
	b.WriteString("^(?:")
	in, escaped, quotes := false, false, 0
	for _, r := range p {
		switch {
		case escaped && r == '"' && !in:
			if quotes == 2 {
				return "", sqlstate.New(sqlstate.InvalidUseOfEscape,
					"SQL regular expression may not contain more than two escape-double-quote separators")
			}
			b.WriteString([]string{"){1,1}?(", "){1,1}(?:"}[quotes])
			quotes++
		case escaped:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == esc:
			escaped = true
			continue
		case in:
			if r == '\\' {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			in = r != ']'
		case r == '[':
			in = true
			b.WriteRune(r)
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteByte('.')
		case r == '(':
			b.WriteString("(?:")
		case strings.ContainsRune(`.^$\`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		escaped = false
	}
	b.WriteString(")$")
	return b.String(), nil
}

// similarPattern compiles a pattern of SIMILAR TO.
func similarPattern(st *exec.State, p string, esc rune) (*pattern, error) {
	text, err := similar(p, esc)
	if err != nil {
		return nil, err
	}
	return Compile(st, text, regex.Flags{})
}

func init() {
	t := types.Text
	substring := func(env *exec.CallEnv, re *pattern, s string) (types.Datum, error) {
		m, err := re.first(env.State, s)
		if m == nil || err != nil {
			return types.Null, err
		}
		if len(m) > 2 {
			m = m[2:]
		}
		if m[0] < 0 {
			return types.Null, nil
		}
		return types.NewText(s[m[0]:m[1]]), nil
	}
	funcs.TextFamily.Function("substring", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		re, err := Compile(env.State, a[1].S, regex.Flags{})
		if err != nil {
			return types.Null, err
		}
		return substring(env, re, a[0].S)
	}, t, t)
	funcs.TextFamily.Function("substring", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		esc, err := escapeOf(a[2].S)
		if err != nil {
			return types.Null, err
		}
		re, err := similarPattern(env.State, a[1].S, esc)
		if err != nil {
			return types.Null, err
		}
		return substring(env, re, a[0].S)
	}, t, t, t)
	for k := 1; k <= 2; k++ {
		funcs.TextFamily.Function("similar_to_escape", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			esc := '\\'
			if len(a) > 1 {
				var err error
				if esc, err = escapeOf(a[1].S); err != nil {
					return types.Null, err
				}
			}
			text, err := similar(a[0].S, esc)
			return types.NewText(text), err
		}, []types.OID{t, t}[:k:k]...)
	}
}

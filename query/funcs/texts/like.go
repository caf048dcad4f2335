package texts

import (
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// LikeFunc returns the function of LIKE, ILIKE, SIMILAR TO or a regular expression operator on texts. A third argument
// is the escape character.
func LikeFunc(op string) *exec.Func { return likeFuncs[op] }

var likeFuncs = map[string]*exec.Func{}

func init() {
	for _, op := range []string{"~~", "~~*", "~", "~*", "similar to"} {
		match := matcher(op)
		likeFuncs[op] = &exec.Func{Name: op, Ret: types.Bool,
			Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				ok, err := match(env, a)
				return types.NewBool(ok), err
			}}
		likeFuncs["!"+op] = &exec.Func{Name: "!" + op, Ret: types.Bool,
			Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				ok, err := match(env, a)
				return types.NewBool(!ok), err
			}}
	}
}

func matcher(op string) func(env *exec.CallEnv, a []types.Datum) (bool, error) {
	escape := func(a []types.Datum) (rune, error) {
		if len(a) < 3 {
			return '\\', nil
		}
		return escapeOf(a[2].S)
	}
	switch op {
	case "~~", "~~*":
		return func(env *exec.CallEnv, a []types.Datum) (bool, error) {
			esc, err := escape(a)
			if err != nil {
				return false, err
			}
			s, p := a[0].S, a[1].S
			if op == "~~*" {
				s, p = strings.ToLower(s), strings.ToLower(p)
			}
			return like(env.State, s, p, esc)
		}
	case "similar to":
		return func(env *exec.CallEnv, a []types.Datum) (bool, error) {
			esc, err := escape(a)
			if err != nil {
				return false, err
			}
			re, err := similarPattern(env.State, a[1].S, esc)
			if err != nil {
				return false, err
			}
			return re.Match(env.State, a[0].S)
		}
	}
	return func(env *exec.CallEnv, a []types.Datum) (bool, error) {
		re, err := Compile(env.State, a[1].S, regex.Flags{Fold: op == "~*"})
		if err != nil {
			return false, err
		}
		return re.Match(env.State, a[0].S)
	}
}

// like matches % and _. It backtracks only to the last %, but may take as many steps as the product of the lengths.
func like(st *exec.State, s, p string, esc rune) (bool, error) {
	type item struct {
		r    rune
		kind byte // 'c' a character, '_' any character
	}
	star, mark := -1, 0
	pi, si := 0, 0
	next := func(i int) (item, int, error) {
		r, n := utf8.DecodeRuneInString(p[i:])
		switch {
		case r == esc && esc >= 0:
			if i+n >= len(p) {
				return item{}, 0, errLikeEnd
			}
			e, m := utf8.DecodeRuneInString(p[i+n:])
			return item{e, 'c'}, i + n + m, nil
		case r == '_':
			return item{0, '_'}, i + n, nil
		}
		return item{r, 'c'}, i + n, nil
	}
	for n := 1; si < len(s); n++ {
		if n&255 == 0 {
			if err := st.Step(2); err != nil {
				return false, err
			}
		}
		if pi < len(p) && p[pi] == '%' && esc != '%' {
			star, mark = pi+1, si
			pi++
			if endsInEscape(p[pi:], s[si:], esc) {
				return false, errLikeEnd
			}
			continue
		}
		if pi < len(p) {
			it, after, err := next(pi)
			if err != nil {
				return false, err
			}
			r, n := utf8.DecodeRuneInString(s[si:])
			if it.kind == '_' || it.r == r {
				pi, si = after, si+n
				continue
			}
		}
		if star < 0 {
			return false, nil
		}
		_, n := utf8.DecodeRuneInString(s[mark:])
		mark += n
		pi, si = star, mark
	}
	for pi < len(p) && p[pi] == '%' && esc != '%' {
		pi++
	}
	return pi == len(p), nil
}

var errLikeEnd = sqlstate.New(sqlstate.InvalidEscapeSequence, "LIKE pattern must not end with escape character")

// endsInEscape reports whether only wildcards that s has room for are in a pattern before an escape character at its
// end. After a % PostgreSQL looks behind the wildcards before it looks at s.
func endsInEscape(p, s string, esc rune) bool {
	if esc < 0 || !strings.HasSuffix(p, string(esc)) {
		return false
	}
	p = p[:len(p)-len(string(esc))]
	for ; p != "" && (p[0] == '%' || p[0] == '_'); p = p[1:] {
		if p[0] == '_' {
			if s == "" {
				return false
			}
			_, n := utf8.DecodeRuneInString(s)
			s = s[n:]
		}
	}
	return p == ""
}

// LikePrefix returns the fixed text before the first wildcard of a LIKE pattern with the default escape character.
// exact reports whether the pattern is that text followed by a single %, plain whether it has no wildcard.
func LikePrefix(p string) (prefix string, exact, plain bool) {
	var out []byte
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			if i+1 >= len(p) {
				return string(out), false, false
			}
			i++
			out = append(out, p[i])
		case '%':
			return string(out), i == len(p)-1, false
		case '_':
			return string(out), false, false
		default:
			out = append(out, p[i])
		}
	}
	return string(out), false, true
}

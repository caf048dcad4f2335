package funcs

import (
	"crypto/md5"
	"encoding/hex"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// TextConcat is || of texts.
var TextConcat = &exec.Func{Name: "textcat", Args: []types.OID{types.Text, types.Text}, Ret: types.Text,
	Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := fitsText(env, len(a[0].S)+len(a[1].S)); err != nil {
			return types.Null, err
		}
		return types.NewText(a[0].S + a[1].S), nil
	}}

// JSONStringText is the text of a JSON string, NULL for any other JSON value: what LIKE sees of a view's key.
var JSONStringText = &exec.Func{Name: "jsonb_string", Args: []types.OID{types.JSONB}, Ret: types.Text,
	Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if types.JSONKindOf(a[0].S) != types.JSONString {
			return types.Null, nil
		}
		s, _ := types.JSONText(a[0].S)
		return types.NewText(s), nil
	}}

// JSONStringCompare compares a jsonb with the JSON string of a text.
func JSONStringCompare(op string) *exec.Func {
	base := Comparison(op)
	return &exec.Func{Name: op, Ret: types.Bool, Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return base.Eval(env, []types.Datum{a[0], types.NewJSON(types.AppendJSONString(nil, a[1].S))})
	}}
}

// LikeFunc is the function behind LIKE, ILIKE, SIMILAR TO and the regular expression operators, over texts. A third argument is the
// escape character.
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
	textFuncs()
}

func matcher(op string) func(env *exec.CallEnv, a []types.Datum) (bool, error) {
	escape := func(a []types.Datum) (rune, error) {
		if len(a) < 3 {
			return '\\', nil
		}
		r, n := utf8.DecodeRuneInString(a[2].S)
		if n != len(a[2].S) {
			return 0, sqlstate.New(sqlstate.InvalidEscapeSequence, "invalid escape string").WithHint("Escape string must be empty or one character.")
		}
		if n == 0 {
			return -1, nil
		}
		return r, nil
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
			re, err := compile(env.State, "^(?:"+similar(a[1].S, esc)+")$", true)
			if err != nil {
				return false, err
			}
			return re.match(env.State, a[0].S)
		}
	}
	return func(env *exec.CallEnv, a []types.Datum) (bool, error) {
		re, err := compile(env.State, posix(a[1].S, op == "~*"), false)
		if err != nil {
			return false, err
		}
		return re.match(env.State, a[0].S)
	}
}

// like matches % and _ without backtracking over more than the last %. It may take as many steps as the lengths multiplied.
func like(st *exec.State, s, p string, esc rune) (bool, error) {
	type item struct {
		r    rune
		kind byte // 'c' a character, '_' any one
	}
	star, mark := -1, 0
	pi, si := 0, 0
	next := func(i int) (item, int, error) {
		r, n := utf8.DecodeRuneInString(p[i:])
		switch {
		case r == esc && esc >= 0:
			if i+n >= len(p) {
				return item{}, 0, sqlstate.New(sqlstate.InvalidEscapeSequence, "LIKE pattern must not end with escape character")
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
	if pi < len(p) {
		if _, _, err := next(pi); err != nil {
			return false, err
		}
	}
	return pi == len(p), nil
}

// LikePrefix is the fixed text before the first wildcard of a LIKE pattern with the default escape character; exact says that the
// pattern is that text followed by a single %; plain that there is no wildcard at all.
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

// posix turns the head of a PostgreSQL regular expression into Go's: options in front, and case folding. Go's engine runs in linear
// time, so that no pattern can hang the gateway; back references and lookaround are refused by it.
func posix(p string, fold bool) string {
	p = strings.TrimPrefix(p, "***:")
	if rest, ok := strings.CutPrefix(p, "***="); ok {
		p = regexp.QuoteMeta(rest)
	}
	p = strings.NewReplacer(`\m`, `\b`, `\M`, `\b`, `\y`, `\b`, `\Y`, `\B`, `\Z`, `\z`).Replace(p)
	if fold {
		return "(?is)" + p
	}
	return "(?s)" + p
}

// similar turns a SIMILAR TO pattern into a regular expression.
func similar(p string, esc rune) string {
	var b strings.Builder
	in := false // a bracket expression
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRuneInString(p[i:])
		i += n
		switch {
		case r == esc && esc >= 0 && i < len(p):
			e, m := utf8.DecodeRuneInString(p[i:])
			i += m
			b.WriteString(regexp.QuoteMeta(string(e)))
		case in:
			in = r != ']'
			b.WriteRune(r)
		case r == '[':
			in = true
			b.WriteRune(r)
		case r == '%':
			b.WriteString("(?s:.*)")
		case r == '_':
			b.WriteString("(?s:.)")
		case strings.ContainsRune(`.^$\`, r):
			b.WriteString(regexp.QuoteMeta(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func textFuncs() {
	one := func(name string, ret types.OID, f func(s string) (types.Datum, error)) {
		textFamily.function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return f(a[0].S)
		}, types.Text)
	}
	text := func(f func(string) string) func(string) (types.Datum, error) {
		return func(s string) (types.Datum, error) { return types.NewText(f(s)), nil }
	}
	number := func(f func(string) int) func(string) (types.Datum, error) {
		return func(s string) (types.Datum, error) { return types.NewInt(int64(f(s))), nil }
	}
	for name, f := range map[string]func(string) string{"lower": strings.ToLower, "upper": strings.ToUpper,
		"initcap": initcap, "reverse": reverse} {
		textFamily.function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			// Letters of two bytes may become letters of three.
			if err := fitsText(env, len(a[0].S)+len(a[0].S)/2); err != nil {
				return types.Null, err
			}
			return types.NewText(f(a[0].S)), nil
		}, types.Text)
	}
	one("length", types.Int4, number(utf8.RuneCountInString))
	one("char_length", types.Int4, number(utf8.RuneCountInString))
	one("character_length", types.Int4, number(utf8.RuneCountInString))
	one("octet_length", types.Int4, number(func(s string) int { return len(s) }))
	one("md5", types.Text, text(func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }))
	one("ascii", types.Int4, number(func(s string) int { r, n := utf8.DecodeRuneInString(s); return int(r) * min(n, 1) }))
	textFamily.function("quote_ident", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		text, err := quoteIdentIn(env, a[0].S)
		return types.NewText(text), err
	}, types.Text)
	textFamily.function("quote_literal", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		text, err := quoteLiteralIn(env, a[0].S)
		return types.NewText(text), err
	}, types.Text)
	trims()
	characters()
	replaces()
	joins()
}

func reverse(s string) string {
	out := make([]byte, len(s))
	for at := len(s); s != ""; {
		_, n := utf8.DecodeRuneInString(s)
		at -= n
		copy(out[at:], s[:n])
		s = s[n:]
	}
	return string(out)
}

func initcap(s string) string {
	word := false
	return strings.Map(func(r rune) rune {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		defer func() { word = inWord }()
		if inWord && !word {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), `\`, `\\`) + "'"
	if strings.Contains(s, `\`) {
		return "E" + q
	}
	return q
}

// quoteLiteralIn is quoteLiteral where there is room for it.
func quoteLiteralIn(env *exec.CallEnv, text string) (string, error) {
	n := len(text) + strings.Count(text, "'") + strings.Count(text, `\`) + 4
	if err := env.Room(int64(n)); err != nil {
		return "", err
	}
	return quoteLiteral(text), nil
}

// quoteIdentIn is keyword.Quote where there is room for it.
func quoteIdentIn(env *exec.CallEnv, text string) (string, error) {
	if err := env.Room(int64(len(text) + strings.Count(text, `"`) + 2)); err != nil {
		return "", err
	}
	return keyword.Quote(text), nil
}

func trims() {
	for name, f := range map[string]func(s string, cut func(rune) bool) string{
		"btrim": strings.TrimFunc, "ltrim": strings.TrimLeftFunc, "rtrim": strings.TrimRightFunc} {
		textFamily.function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewText(f(a[0].S, among(" "))), nil
		}, types.Text)
		textFamily.function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewText(f(a[0].S, among(a[1].S))), nil
		}, types.Text, types.Text)
	}
}

// among says whether a character is one of set's.
func among(set string) func(rune) bool {
	if len(set) <= 16 {
		return func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	have := map[rune]bool{}
	for _, r := range set {
		have[r] = true
	}
	return func(r rune) bool { return have[r] }
}

// characters are the functions that count characters.
func characters() {
	substr := func(s string, from, count int64, bounded bool) (types.Datum, error) {
		if bounded && count < 0 {
			return types.Null, sqlstate.New("22011", "negative substring length not allowed")
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
		textFamily.function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return substr(a[0].S, a[1].I, 0, false)
		}, types.Text, types.Int4)
		textFamily.function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return substr(a[0].S, a[1].I, a[2].I, true)
		}, types.Text, types.Int4, types.Int4)
	}
	textFamily.function("substring", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		re, err := compile(env.State, posix(a[1].S, false), false)
		if err == nil {
			err = re.affordable(env.State, a[0].S)
		}
		if err != nil {
			return types.Null, err
		}
		m := re.re.FindStringSubmatch(a[0].S)
		if m == nil {
			return types.Null, nil
		}
		return types.NewText(m[min(1, len(m)-1)]), nil
	}, types.Text, types.Text)
	textFamily.function("left", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := a[1].I
		if n < 0 {
			n = max(int64(utf8.RuneCountInString(a[0].S))+n, 0)
		}
		return substr(a[0].S, 1, n, true)
	}, types.Text, types.Int4)
	textFamily.function("right", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		total := int64(utf8.RuneCountInString(a[0].S))
		n := a[1].I
		if n < 0 {
			n = max(total+n, 0)
		}
		return substr(a[0].S, total-n+1, 0, false)
	}, types.Text, types.Int4)
	for _, name := range []string{"strpos", "position"} {
		textFamily.function(name, types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			i := strings.Index(a[0].S, a[1].S)
			if i < 0 {
				return types.NewInt(0), nil
			}
			return types.NewInt(int64(utf8.RuneCountInString(a[0].S[:i])) + 1), nil
		}, types.Text, types.Text)
	}
	textFamily.function("starts_with", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)), nil
	}, types.Text, types.Text)
	textFamily.function("split_part", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
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

// maxText bounds the texts that functions make, where the statement's memory does not.
const maxText = 1 << 30

// fitsText fails where a text of n bytes must not be made.
func fitsText(env *exec.CallEnv, n int) error {
	if n > maxText {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "requested length too large")
	}
	return env.Fits(int64(n))
}

func replaces() {
	textFamily.function("replace", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[1].S == "" {
			return a[0], nil
		}
		if err := fitsText(env, len(a[0].S)+strings.Count(a[0].S, a[1].S)*(len(a[2].S)-len(a[1].S))); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.ReplaceAll(a[0].S, a[1].S, a[2].S)), nil
	}, types.Text, types.Text, types.Text)
	textFamily.function("repeat", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n := max(a[1].I, 0)
		if err := fitsText(env, int(n)*len(a[0].S)); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.Repeat(a[0].S, int(n))), nil
	}, types.Text, types.Int4)
	textFamily.function("translate", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		become, to := map[rune]rune{}, a[2].S
		for _, f := range a[1].S {
			t, n := rune(-1), 0
			if to != "" {
				t, n = utf8.DecodeRuneInString(to)
				to = to[n:]
			}
			if _, known := become[f]; !known { // the first of two goes before
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
		if err := fitsText(env, n); err != nil {
			return types.Null, err
		}
		return types.NewText(strings.Map(translate, a[0].S)), nil
	}, types.Text, types.Text, types.Text)
	replace := func(env *exec.CallEnv, a []types.Datum, flags string) (types.Datum, error) {
		re, err := compile(env.State, posix(a[1].S, strings.Contains(flags, "i")), false)
		if err == nil {
			err = re.affordable(env.State, a[0].S)
		}
		if err != nil {
			return types.Null, err
		}
		with := strings.ReplaceAll(a[2].S, "$", "$$")
		for _, d := range "0123456789" {
			with = strings.ReplaceAll(with, `\`+string(d), "${"+string(d)+"}")
		}
		with = strings.ReplaceAll(with, `\&`, "${0}")
		times := 1
		if strings.Contains(flags, "g") {
			times = -1
		}
		return re.replace(env, a[0].S, with, times)
	}
	textFamily.function("regexp_replace", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return replace(env, a, "")
	}, types.Text, types.Text, types.Text)
	textFamily.function("regexp_replace", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return replace(env, a, a[3].S)
	}, types.Text, types.Text, types.Text, types.Text)
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
		if err := fitsText(env, len(a[0].S)+(more/letters+1)*len(fill)); err != nil {
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
		textFamily.function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return pad(env, a, " ", left)
		}, types.Text, types.Int4)
		textFamily.function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return pad(env, a, a[2].S, left)
		}, types.Text, types.Int4, types.Text)
	}
}

func joins() {
	concat := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		var b strings.Builder
		for i, d := range a {
			if d.IsNull() {
				continue
			}
			text, err := env.TextOf(d, env.ArgType(i))
			if err == nil {
				err = fitsText(env, b.Len()+len(text))
			}
			if err != nil {
				return types.Null, err
			}
			b.WriteString(text)
		}
		return types.NewText(b.String()), nil
	}
	textFamily.Add(&exec.Func{Name: "concat", Args: []types.OID{exec.AnyValue}, Variadic: true, Ret: types.Text,
		NullArgs: true, Eval: concat})
	textFamily.Add(&exec.Func{Name: "concat_ws", Args: []types.OID{types.Text, exec.AnyValue}, Variadic: true,
		Ret: types.Text, NullArgs: true,
		Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if a[0].IsNull() {
				return types.Null, nil
			}
			var parts []string
			total := 0
			for i, d := range a[1:] {
				if d.IsNull() {
					continue
				}
				text, err := env.TextOf(d, env.ArgType(i+1))
				if err != nil {
					return types.Null, err
				}
				parts = append(parts, text)
				total += len(text) + len(a[0].S)
				if err := fitsText(env, total); err != nil {
					return types.Null, err
				}
			}
			return types.NewText(strings.Join(parts, a[0].S)), nil
		}})
	textFamily.Add(&exec.Func{Name: "format", Args: []types.OID{types.Text, exec.AnyValue}, Variadic: true,
		Ret: types.Text, NullArgs: true, Eval: format})
	textFamily.Add(&exec.Func{Name: "format", Args: []types.OID{types.Text}, Ret: types.Text, Eval: format})
	textFamily.function("quote_literal", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		text, err := env.TextOf(a[0], env.ArgType(0))
		if err == nil {
			text, err = quoteLiteralIn(env, text)
		}
		return types.NewText(text), err
	}, exec.AnyValue)
}

// format knows %s, %I, %L and %%.
func format(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	var b strings.Builder
	f, next := a[0].S, 1
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b.WriteByte(f[i])
			continue
		}
		if i++; i >= len(f) {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "unterminated format() type specifier")
		}
		if f[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if next >= len(a) {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "too few arguments for format()")
		}
		d, text, err := a[next], "", error(nil)
		if !d.IsNull() {
			text, err = env.TextOf(d, env.ArgType(next))
		}
		next++
		switch {
		case err != nil || f[i] == 's':
		case f[i] == 'I' && d.IsNull():
			err = sqlstate.New(sqlstate.NullNotAllowed, "null values cannot be formatted as an SQL identifier")
		case f[i] == 'I':
			text, err = quoteIdentIn(env, text)
		case f[i] == 'L' && d.IsNull():
			text = "NULL"
		case f[i] == 'L':
			text, err = quoteLiteralIn(env, text)
		default:
			err = sqlstate.New(sqlstate.InvalidParameterValue, "unrecognized format() type specifier %q", f[i])
		}
		if err == nil {
			err = env.Room(int64(b.Len() + len(text)))
		}
		if err != nil {
			return types.Null, err
		}
		b.WriteString(text)
	}
	return types.NewText(b.String()), nil
}

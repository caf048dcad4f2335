// Package texts implements the functions of texts and bytes, including pattern matching (PostgreSQL 15, sections 9.4,
// 9.5 and 9.7). Regular expressions are matched by package regex.
package texts

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// TextConcat is the operator || of texts.
var TextConcat = &exec.Func{Name: "textcat", Args: []types.OID{types.Text, types.Text}, Ret: types.Text,
	Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if err := funcs.FitsText(env, len(a[0].S)+len(a[1].S)); err != nil {
			return types.Null, err
		}
		return types.NewText(a[0].S + a[1].S), nil
	}}

// JSONStringText returns the text of a JSON string, and NULL for any other JSON value. LIKE uses it for the keys of
// views.
var JSONStringText = &exec.Func{Name: "jsonb_string", Args: []types.OID{types.JSONB}, Ret: types.Text,
	Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if types.JSONKindOf(a[0].S) != types.JSONString {
			return types.Null, nil
		}
		s, _ := types.JSONText(a[0].S)
		return types.NewText(s), nil
	}}

// JSONStringCompare returns the comparison of a jsonb with the JSON string of a text.
func JSONStringCompare(op string) *exec.Func {
	base := funcs.Comparison(op)
	return &exec.Func{Name: op, Ret: types.Bool, Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return base.Eval(env, []types.Datum{a[0], types.NewJSON(jsontext.AppendQuoted(nil, a[1].S))})
	}}
}

func init() {
	one := func(name string, ret types.OID, f func(s string) (types.Datum, error)) {
		funcs.TextFamily.Function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
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
		funcs.TextFamily.Function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			// A letter of two bytes may become a letter of three.
			if err := funcs.FitsText(env, len(a[0].S)+len(a[0].S)/2); err != nil {
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
	one("ascii", types.Int4, number(func(s string) int {
		r, n := utf8.DecodeRuneInString(s)
		return int(r) * min(n, 1)
	}))
	funcs.TextFamily.Function("quote_ident", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		text, err := quoteIdentIn(env, a[0].S)
		return types.NewText(text), err
	}, types.Text)
	funcs.TextFamily.Function("quote_literal", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			text, err := quoteLiteralIn(env, a[0].S)
			return types.NewText(text), err
		}, types.Text)
	funcs.TextFamily.Operator("^@", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewBool(strings.HasPrefix(a[0].S, a[1].S)), nil
	}, types.Text, types.Text)
	// The operators of text_pattern_ops compare bytes, whatever the collation.
	for op, test := range map[string]func(int) bool{
		"~<~": func(c int) bool { return c < 0 }, "~<=~": func(c int) bool { return c <= 0 },
		"~>=~": func(c int) bool { return c >= 0 }, "~>~": func(c int) bool { return c > 0 },
	} {
		for _, t := range []types.OID{types.Text, types.BPChar} {
			funcs.TextFamily.Operator(op, types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return types.NewBool(test(strings.Compare(a[0].S, a[1].S))), nil
			}, t, t)
		}
	}
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

func trims() {
	for name, f := range map[string]func(s string, cut func(rune) bool) string{
		"btrim": strings.TrimFunc, "ltrim": strings.TrimLeftFunc, "rtrim": strings.TrimRightFunc} {
		funcs.TextFamily.Function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewText(f(a[0].S, among(" "))), nil
		}, types.Text)
		funcs.TextFamily.Function(name, types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewText(f(a[0].S, among(a[1].S))), nil
		}, types.Text, types.Text)
	}
}

// among returns a function that reports whether a character is in set.
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

package funcs

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// joins adds the functions that make one text of several.
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

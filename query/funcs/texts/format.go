package texts

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// joins adds the functions that join texts.
func joins() {
	concat := func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		var b strings.Builder
		for i, d := range a {
			if d.IsNull() {
				continue
			}
			text, err := env.TextOf(d, env.ArgType(i))
			if err == nil {
				err = funcs.FitsText(env, b.Len()+len(text))
			}
			if err != nil {
				return types.Null, err
			}
			b.WriteString(text)
		}
		return types.NewText(b.String()), nil
	}
	funcs.TextFamily.Add(&exec.Func{Name: "concat", Args: []types.OID{exec.AnyValue}, Variadic: true, Ret: types.Text,
		NullArgs: true, Eval: concat})
	funcs.TextFamily.Add(&exec.Func{Name: "concat_ws", Args: []types.OID{types.Text, exec.AnyValue}, Variadic: true,
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
				if err := funcs.FitsText(env, total); err != nil {
					return types.Null, err
				}
			}
			return types.NewText(strings.Join(parts, a[0].S)), nil
		}})
	funcs.TextFamily.Add(&exec.Func{Name: "format", Args: []types.OID{types.Text, exec.AnyValue}, Variadic: true,
		Ret: types.Text, NullArgs: true, Eval: format})
	funcs.TextFamily.Add(&exec.Func{Name: "format", Args: []types.OID{types.Text}, Ret: types.Text, Eval: format})
	funcs.TextFamily.Function("quote_literal", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			text, err := castText(env, a[0])
			if err == nil {
				text, err = quoteLiteralIn(env, text)
			}
			return types.NewText(text), err
		}, exec.AnyElement)
}

// castText returns the text to which a function's first argument is cast. It differs from what is printed for booleans.
func castText(env *exec.CallEnv, d types.Datum) (string, error) {
	if d.K == types.KBool {
		return strconv.FormatBool(d.I != 0), nil
	}
	return env.TextOf(d, env.ArgType(0))
}

// format implements %s, %I, %L and %%, with positions (%2$s), widths (%10s, %*s) and the flag -.
func format(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	var b strings.Builder
	w := &formatter{env: env, args: a, f: a[0].S}
	for w.i < len(w.f) {
		c := w.f[w.i]
		w.i++
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		text, err := w.specifier()
		if err == nil {
			err = funcs.FitsText(env, b.Len()+len(text))
		}
		if err != nil {
			return types.Null, err
		}
		b.WriteString(text)
	}
	return types.NewText(b.String()), nil
}

type formatter struct {
	env  *exec.CallEnv
	args []types.Datum
	f    string
	i    int
	last int // the argument used last
}

func invalidFormat(format string, args ...any) error {
	return sqlstate.New(sqlstate.InvalidParameterValue, format, args...)
}

// digits reads a number; -1 if there is none.
func (w *formatter) digits() (int, error) {
	n := -1
	for ; w.i < len(w.f) && w.f[w.i] >= '0' && w.f[w.i] <= '9'; w.i++ {
		if n = max(n, 0)*10 + int(w.f[w.i]-'0'); n > math.MaxInt32 {
			return 0, sqlstate.New(sqlstate.NumericOutOfRange, "number is out of range")
		}
	}
	return n, nil
}

// arg returns the index of argument n, or of the next one.
func (w *formatter) arg(n int) (int, error) {
	if n < 0 {
		n = w.last + 1
	}
	if n >= len(w.args) {
		return 0, invalidFormat("too few arguments for format()")
	}
	w.last = n
	return n, nil
}

// position reads n$.
func (w *formatter) position() (int, error) {
	start := w.i
	n, err := w.digits()
	if err != nil || n < 0 || w.i >= len(w.f) || w.f[w.i] != '$' {
		w.i = start
		return -1, err
	}
	w.i++
	if n == 0 {
		return 0, invalidFormat("format specifies argument 0, but arguments are numbered from 1")
	}
	return n, nil
}

// specifier handles the specifier after a %.
func (w *formatter) specifier() (string, error) {
	if w.i < len(w.f) && w.f[w.i] == '%' {
		w.i++
		return "%", nil
	}
	at, err := w.position()
	if err != nil {
		return "", err
	}
	left := false
	for ; w.i < len(w.f) && w.f[w.i] == '-'; w.i++ {
		left = true
	}
	width := 0
	if w.i < len(w.f) && w.f[w.i] == '*' {
		w.i++
		n, err := w.position()
		if err == nil {
			n, err = w.arg(n)
		}
		if err != nil {
			return "", err
		}
		if d := w.args[n]; !d.IsNull() {
			v, err := exec.CastDatum(w.env.Env, d, w.env.ArgType(n), types.Int4, -1)
			if err != nil {
				return "", err
			}
			if width = int(v.I); width < 0 {
				left, width = true, -width
			}
		}
	} else if width, err = w.digits(); err != nil {
		return "", err
	}
	if w.i >= len(w.f) {
		return "", sqlstate.New(sqlstate.InvalidParameterValue, "unterminated format() type specifier").
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	kind := w.f[w.i]
	w.i++
	if kind != 's' && kind != 'I' && kind != 'L' {
		return "", sqlstate.New(sqlstate.InvalidParameterValue, "unrecognized format() type specifier \"%c\"", kind).
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	n, err := w.arg(at)
	if err != nil {
		return "", err
	}
	text, err := w.value(kind, n)
	if err != nil {
		return "", err
	}
	pad := width - utf8.RuneCountInString(text)
	if pad <= 0 {
		return text, nil
	}
	if err := funcs.FitsText(w.env, len(text)+pad); err != nil {
		return "", err
	}
	if left {
		return text + strings.Repeat(" ", pad), nil
	}
	return strings.Repeat(" ", pad) + text, nil
}

func (w *formatter) value(kind byte, n int) (string, error) {
	d := w.args[n]
	if d.IsNull() {
		switch kind {
		case 'I':
			return "", sqlstate.New(sqlstate.NullNotAllowed, "null values cannot be formatted as an SQL identifier")
		case 'L':
			return "NULL", nil
		}
		return "", nil
	}
	text, err := w.env.TextOf(d, w.env.ArgType(n))
	if err != nil {
		return "", err
	}
	switch kind {
	case 'I':
		return quoteIdentIn(w.env, text)
	case 'L':
		return quoteLiteralIn(w.env, text)
	}
	return text, nil
}

func quoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), `\`, `\\`) + "'"
	if strings.Contains(s, `\`) {
		return "E" + q
	}
	return q
}

// quoteLiteralIn is quoteLiteral after reserving memory for the result.
func quoteLiteralIn(env *exec.CallEnv, text string) (string, error) {
	n := len(text) + strings.Count(text, "'") + strings.Count(text, `\`) + 4
	if err := env.Room(int64(n)); err != nil {
		return "", err
	}
	return quoteLiteral(text), nil
}

// quoteIdentIn is keyword.Quote after reserving memory for the result.
func quoteIdentIn(env *exec.CallEnv, text string) (string, error) {
	if err := env.Room(int64(len(text) + strings.Count(text, `"`) + 2)); err != nil {
		return "", err
	}
	if env.Types.QuoteAll {
		return keyword.InQuotes(text), nil
	}
	return keyword.Quote(text), nil
}

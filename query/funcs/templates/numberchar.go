package templates

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// to_char and to_number for numbers.
func init() {
	for _, t := range []types.OID{types.Int4, types.Int8, types.Numeric} {
		textFormat("to_char", t, func(d types.Datum, f *numberFormat) (string, error) {
			if d.K == types.KInt {
				return numericChar(types.DecimalFromInt(d.I), f)
			}
			return numericChar(d.Decimal(), f)
		})
	}
	for t, digits := range map[types.OID]int{types.Float4: 6, types.Float8: 15} {
		textFormat(
			"to_char",
			t,
			func(d types.Datum, f *numberFormat) (string, error) { return floatChar(d.Float(), digits, f) },
		)
	}
	funcs.TimeFamily.Function("to_number", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		f, err := parseNumberFormat(a[1].S)
		switch {
		case err != nil:
			return types.Null, err
		case a[1].S == "":
			return types.Null, nil
		case f.scientific:
			return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "\"EEEE\" not supported for input")
		case f.roman:
			return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "\"RN\" not supported for input")
		}
		text, decimals := f.read(a[0].S)
		d, err := types.ParseDecimal(text)
		if err != nil {
			return types.Null, err
		}
		d = d.Round(int32(decimals))
		most := types.DecimalPower(1, int32(max(f.pre+f.multi, 0)))
		if d.Cmp(most) >= 0 || d.Cmp(most.Neg()) <= 0 {
			return types.Null, overflows(f, decimals)
		}
		if f.hasMulti {
			down, err := types.DecimalFromInt(10).Pow(types.DecimalFromInt(int64(-f.multi)))
			if err == nil {
				d, err = d.Mul(down)
			}
			return types.NewNumeric(d), err
		}
		return types.NewNumeric(d), nil
	}, types.Text, types.Text)
}

// overflows returns the error for a number with more digits than its format.
func overflows(f *numberFormat, scale int) error {
	digits := max(f.pre+f.multi, 0)
	most := "1"
	if digits > 0 {
		most = fmt.Sprintf("10^%d", digits)
	}
	return sqlstate.New(sqlstate.NumericOutOfRange, "numeric field overflow").
		WithDetail("A field with precision %d, scale %d must round to an absolute value less than %s.",
			digits+scale, scale, most)
}

func textFormat(name string, t types.OID, f func(d types.Datum, f *numberFormat) (string, error)) {
	funcs.TimeFamily.Function(name, types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[1].S == "" {
			return types.NewText(""), nil
		}
		format, err := parseNumberFormat(a[1].S)
		if err != nil {
			return types.Null, err
		}
		if err := env.Step(1 + len(a[1].S)/texts.StepBytes); err != nil {
			return types.Null, err
		}
		s, err := f(a[0], format)
		return types.NewText(s), err
	}, t, types.Text)
}

func numericChar(d *types.Decimal, f *numberFormat) (string, error) {
	switch {
	case f.roman:
		n, err := types.Cast(types.NewNumeric(d), types.Numeric, types.Int4, -1, nil)
		if err != nil {
			return "", err
		}
		return f.write(romanOf(n.I), false, 0)
	case f.scientific:
		return scientific(d, f), nil
	}
	pre := f.pre
	if f.hasMulti {
		var err error
		if d, err = d.Mul(types.DecimalPower(1, int32(f.multi))); err != nil {
			return "", err
		}
		pre += f.multi
	}
	return f.fixed(d.Round(int32(f.post)).String(), pre)
}

// fixed writes a number that has as many digits after the decimal point as the format.
func (f *numberFormat) fixed(text string, pre int) (string, error) {
	digits, negative := strings.CutPrefix(text, "-")
	g := *f
	g.pre = pre
	whole, _, _ := strings.Cut(digits, ".")
	switch n := len(whole); {
	case n < pre:
		return g.write(digits, negative, pre-n)
	case n > pre:
		digits = strings.Repeat("#", pre) + "." + strings.Repeat("#", f.post)
	}
	return g.write(digits, negative, 0)
}

// hashes is written for values without a scientific form.
func (f *numberFormat) hashes() string {
	b := []byte(" " + strings.Repeat("#", f.pre+f.post+5))
	if f.pre+1 < len(b) {
		b[f.pre+1] = '.'
	}
	return string(b)
}

func scientific(d *types.Decimal, f *numberFormat) string {
	if !d.IsFinite() {
		return f.hashes()
	}
	text := d.Scientific(f.post)
	if !strings.HasPrefix(text, "-") {
		text = " " + text
	}
	return text
}

func floatChar(x float64, most int, f *numberFormat) (string, error) {
	switch {
	case f.roman:
		n := int64(0)
		if r := math.RoundToEven(x); math.Abs(r) < 1e6 {
			n = int64(r)
		}
		return f.write(romanOf(n), false, 0)
	case f.scientific:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return f.hashes(), nil
		}
		return fmt.Sprintf("% .*e", f.post, x), nil
	}
	pre := f.pre
	if f.hasMulti {
		x *= math.Pow10(f.multi)
		pre += f.multi
	}
	g := *f
	whole := len(strconv.FormatFloat(math.Abs(x), 'f', 0, 64))
	if math.IsInf(x, 0) {
		whole = len("Infinity")
	}
	switch {
	case whole >= most:
		g.post = 0
	case whole+g.post > most:
		g.post = most - whole
	}
	text := strconv.FormatFloat(x, 'f', g.post, 64)
	switch {
	case math.IsNaN(x):
		text = "NaN"
	case math.IsInf(x, 0):
		text = strings.Replace(strings.TrimPrefix(text, "+"), "Inf", "Infinity", 1)
	}
	return g.fixed(text, pre)
}

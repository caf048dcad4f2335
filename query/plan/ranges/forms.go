package ranges

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/types"
)

// A condition can look at a JSON value in several forms: key = '"NO"', key #>> '{}' = 'NO', key::text LIKE '"N%',
// (key)::int > 5. Each form has its own order. What a condition allows in the order of its form is turned into the
// values that can have such a form, in the order of views. This never leaves out a value, but may include others, so
// the condition itself is applied to the rows as well.

// Kind says how an expression presents a JSON value.
type Kind uint8

const (
	AsJSON    Kind = iota // the value itself
	asString              // the text of a string, NULL for any other value: the operand of LIKE
	AsText                // the result of ->>
	AsPrinted             // the value's JSON text: ::text
	asNumber              // cast to a type of numbers
	asParsed              // the result of ->>, cast to a type of numbers
	asMoment              // the result of ->>, cast to a date or a timestamp
)

// Form is a form with the type of its values, and the modifier of that type, as in numeric(10,2), or 0.
type Form struct {
	Kind Kind
	typ  types.OID
	Mod  int32
	// moved says how far casts between numbers have moved a number.
	moved distance
}

// distance is a bound of the difference of two numbers: a part of the number, and a further step.
type distance struct{ part, step float64 }

// cast is the form of a number that is cast to another type of numbers, as PostgreSQL casts: integers are rounded, and
// a numeric is made of 6 digits of a real and 15 of a double.
func (f Form) cast(kind Kind, to types.OID) Form {
	d := f.moved
	switch {
	case to == types.Float4:
		d.part, d.step = max(d.part, 1.2e-7), max(d.step, 1.5e-45)
	case to == types.Numeric && f.typ == types.Float4:
		d.part = max(d.part, 1e-5)
	case to == types.Numeric && f.typ == types.Float8:
		d.part = max(d.part, 1e-14)
	case to != types.Numeric && to != types.Float8:
		d.step = max(d.step, 1)
	}
	return Form{Kind: kind, typ: to, moved: d}
}

// Locator finds a JSON value in expressions. text reports that the expression is the value as ->> returns it.
type Locator func(e exec.Expr) (found, text bool)

// ColumnAt locates a column.
func ColumnAt(index int) Locator {
	return func(e exec.Expr) (found, text bool) {
		c, ok := e.(*exec.Col)
		return ok && c.Depth == 0 && c.Index == index, false
	}
}

// FormOf returns the form in which an expression presents the located value.
func (at Locator) FormOf(e exec.Expr) (Form, bool) {
	e = collation.WithoutBytes(e)
	if found, text := at(e); found {
		if text {
			return Form{Kind: AsText, typ: types.Text}, true
		}
		return Form{Kind: AsJSON, typ: types.JSONB}, true
	}
	switch n := e.(type) {
	case *exec.Call:
		if n.Func == texts.JSONStringText {
			if f, ok := at.FormOf(n.Args[0]); ok && f.Kind == AsJSON {
				return Form{Kind: asString, typ: types.Text}, true
			}
		}
		if (n.Op == "#>>" || n.Op == "#>") && isEmptyPath(n.Args[1]) {
			if f, ok := at.FormOf(n.Args[0]); ok && f.Kind == AsJSON {
				return Form{Kind: map[string]Kind{"#>>": AsText, "#>": AsJSON}[n.Op], typ: n.Typ}, true
			}
		}
	case *exec.CastExpr:
		f, ok := at.FormOf(n.X)
		switch {
		case !ok:
		case (f.Kind == AsText || f.Kind == asMoment) && f.Mod == 0 && IsMoment(n.To):
			// Rounding by a modifier moves it less than a time zone.
			return Form{Kind: asMoment, typ: n.To}, true
		case n.Mod != -1:
			switch {
			case f.Mod != 0:
			case n.To == types.VarChar && (f.Kind == asString || f.Kind == AsText):
				return Form{Kind: f.Kind, typ: types.Text, Mod: n.Mod}, true
			case n.To == types.Numeric && f.Kind == AsJSON:
				return Form{Kind: asNumber, typ: n.To, Mod: n.Mod}, true
			case n.To == types.Numeric && f.Kind == AsText:
				return Form{Kind: asParsed, typ: n.To, Mod: n.Mod}, true
			}
		case n.To == types.Text || n.To == types.VarChar:
			switch f.Kind {
			case AsJSON:
				return Form{Kind: AsPrinted, typ: types.Text}, true
			case asString, AsText, AsPrinted:
				return f, true
			}
		case types.IsNumber(n.To) && f.Mod == 0:
			switch f.Kind {
			case AsJSON, asNumber:
				return f.cast(asNumber, n.To), true
			case AsText, asParsed:
				return f.cast(asParsed, n.To), true
			}
		}
	}
	return Form{}, false
}

// IsMoment reports whether a type is one of dates and times.
func IsMoment(typ types.OID) bool {
	return typ == types.Date || typ == types.Timestamp || typ == types.TimestampTZ
}

func isEmptyPath(e exec.Expr) bool {
	c, ok := e.(*exec.Const)
	return ok && !c.D.IsNull() && c.D.K == types.KArray && len(c.D.Array().Items) == 0
}

// forms returns the forms in which conditions look at the located value, without AsJSON.
func (at Locator) forms(conds []exec.Expr) []Form {
	var list []Form
	var walk func(e exec.Expr) exec.Expr
	walk = func(e exec.Expr) exec.Expr {
		if f, ok := at.FormOf(e); ok {
			if f.Kind != AsJSON && !slices.Contains(list, f) {
				list = append(list, f)
			}
			return e
		}
		return exec.RewriteChildren(e, walk)
	}
	for _, c := range conds {
		walk(c)
	}
	return list
}

// Allowed returns intervals outside of which a value does not satisfy the conditions, in the order of views.
func (at Locator) Allowed(conds []exec.Expr, inJSON bool) Intervals {
	set := Everything()
	if inJSON {
		col := Ordered{at: at, form: Form{Kind: AsJSON, typ: types.JSONB}}
		for _, c := range conds {
			s, _ := col.Analyse(c)
			set = set.Intersect(s)
		}
	}
	for _, f := range at.forms(conds) {
		col, in := Ordered{at: at, form: f}, Everything()
		for _, c := range conds {
			s, _ := col.Analyse(c)
			in = in.Intersect(s)
		}
		if !in.Unbounded() {
			set = set.Intersect(f.values(in))
		}
	}
	return set
}

// Texts returns the texts, in the order of their bytes, outside of which the text of the located value, as ->> returns
// it, does not satisfy the conditions.
func (at Locator) Texts(conds []exec.Expr) Intervals {
	col, set := Ordered{at: at, form: Form{Kind: AsText, typ: types.Text}}, Everything()
	for _, c := range conds {
		s, _ := col.Analyse(c)
		set = set.Intersect(s)
	}
	return set
}

// Unbounded reports whether the intervals allow any value.
func (s Intervals) Unbounded() bool { return len(s) == 1 && s[0].Low.Inf && s[0].High.Inf }

// Limits of kinds of values in the order of views: null, booleans, numbers, strings, arrays, objects.
var (
	AfterBooleans = Limit{Val: types.NewJSONText("true"), Open: true}
	AtStrings     = Limit{Val: types.NewJSONText(`""`)}
	AtArrays      = Limit{Val: types.NewJSONText("[]")}
	AllNumbers    = Interval{AfterBooleans, Below(AtStrings)}
	AllStrings    = Interval{AtStrings, Below(AtArrays)}
	AllLists      = Interval{AtArrays, Limit{Inf: true}}
	// Doubles are the numbers that doubles can have. Unlike all numbers, they have a lowest one.
	Doubles = Interval{double(-math.MaxFloat64), double(math.MaxFloat64)}
)

func double(f float64) Limit {
	return Limit{Val: types.NewJSONText(strconv.FormatFloat(f, 'g', -1, 64))}
}

// Below returns the upper end just below a value.
func Below(l Limit) Limit {
	l.Open = true
	return l
}

// values returns the JSON values whose form lies in the intervals. What would leave out only whole kinds of values is
// not worth several ranges.
func (f Form) values(set Intervals) Intervals {
	var all []Interval
	for _, iv := range set {
		switch f.Kind {
		case asString, AsText:
			if f.Mod != 0 {
				iv = uncut(iv, int(f.Mod-4))
			}
			found := stringsOf(iv)
			if found == AllStrings {
				return Everything()
			}
			if all = append(all, found); f.Kind == AsText {
				all = append(all, othersOf(iv)...)
			}
		case AsPrinted:
			all = append(all, printedAs(iv)...)
		case asParsed:
			all = append(all, numbersOf(iv, f), AllStrings)
		case asNumber:
			all = append(all, numbersOf(iv, f))
		case asMoment:
			all = append(all, momentsOf(iv)...)
		}
	}
	return Union(all)
}

// uncut returns the texts whose first n characters lie in an interval.
func uncut(iv Interval, n int) Interval {
	if high := []rune(iv.High.Val.S); !iv.High.Inf && len(high) >= n {
		text, ok := After(string(high[:n]))
		iv.High = Limit{Val: types.NewText(text), Open: true, Inf: !ok}
	}
	return iv
}

// Replacement stands for characters that a text cannot have.
const Replacement = "\ufffd"

// stringsOf returns the JSON strings whose text lies in an interval of texts, which are ordered by their bytes.
func stringsOf(iv Interval) Interval {
	if iv.IsPoint() && !strings.Contains(iv.Low.Val.S, Replacement) {
		return Point(Text(iv.Low.Val.S))
	}
	low, high := commonPrefix(iv)
	if low == "" {
		return AllStrings
	}
	out := Interval{Limit{Val: Text(low)}, Below(AtArrays)}
	if high != "" {
		out.High = Limit{Val: Text(high), Open: true}
	}
	return out
}

// Text returns a text as a JSON string.
func Text(s string) types.Datum { return types.NewJSON(jsontext.AppendQuoted(nil, s)) }

// commonPrefix returns the strings between which all texts of an interval collate, the second one excluded. They are
// found from the prefix that all of these texts have, of characters whose place does not depend on what follows. Empty
// strings are no bounds.
func commonPrefix(iv Interval) (low, high string) {
	if iv.Low.Inf || iv.High.Inf {
		return "", ""
	}
	from, to := iv.Low.Val.S, iv.High.Val.S
	if iv.IsPoint() {
		to += "\x00"
	} else if !iv.High.Open {
		to += "\x00" // the smallest text above it
	}
	n := 0
	for n < len(from) && placeOf(from[n]) >= 0 {
		if next, ok := After(from[:n+1]); !ok || to > next {
			break
		}
		n++
	}
	low = from[:n]
	// The next character lies between two of one kind.
	if n < len(from) && n < len(to) && low == to[:n] && sameKind(from[n], to[n]) {
		if high = successor(to[:n+1]); high != "" {
			return from[:n+1], high
		}
	}
	return low, successor(low)
}

// sameKind reports whether two characters are digits, lower-case or upper-case letters: between them there are only
// others of that kind, in the same order by bytes and by collation.
func sameKind(a, b byte) bool {
	for _, kind := range []string{"09", "az", "AZ"} {
		if kind[0] <= a && a <= b && b <= kind[1] {
			return true
		}
	}
	return false
}

// asciiOrder has the printable characters of ASCII in the order of ICU's root collation. None of them begins a
// contraction, and each has a place of its own, but for the case of letters: so all strings that begin with one collate
// below the next, whatever follows.
const asciiOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

// placeOf returns the place of a character in asciiOrder, or -1.
func placeOf(c byte) int {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return strings.IndexByte(asciiOrder, c)
}

// successor returns a string that collates above all strings with a prefix, whose characters are in asciiOrder. It
// returns "" if there is none.
func successor(prefix string) string {
	for n := len(prefix); n > 0; n-- {
		if at := placeOf(prefix[n-1]); at < len(asciiOrder)-1 {
			return prefix[:n-1] + asciiOrder[at+1:at+2]
		}
	}
	return ""
}

// othersOf returns the values other than strings for which ->> can return a text of an interval.
func othersOf(iv Interval) []Interval {
	if iv.IsPoint() {
		text := iv.Low.Val.S
		switch kind := types.JSONKindOf(text); {
		case strings.Contains(text, Replacement):
			return []Interval{AllLists}
		case kind == types.JSONString || text == "null":
			return nil
		default:
			return printedAs(iv)
		}
	}
	var out []Interval
	for _, kind := range []struct {
		first string
		iv    Interval
	}{
		{"-0123456789", AllNumbers},
		{"ft", Interval{Limit{Val: types.NewJSONText("false")}, Limit{Val: types.NewJSONText("true")}}},
		{"[{", AllLists},
	} {
		if strings.ContainsFunc(kind.first, func(c rune) bool {
			text, next := types.NewText(string(c)), types.NewText(string(c+1))
			return Intervals{iv}.Intersect(Intervals{{Limit{Val: text}, Limit{Val: next, Open: true}}}) != nil
		}) {
			out = append(out, kind.iv)
		}
	}
	return out
}

// printedAs returns the values that are printed as a text of an interval.
func printedAs(iv Interval) []Interval {
	if !iv.IsPoint() || strings.Contains(iv.Low.Val.S, Replacement) {
		return Everything()
	}
	d, err := types.ParseJSON(iv.Low.Val.S)
	if err != nil {
		return nil // values are printed as JSON
	}
	if _, err := types.CompareJSON(d.S, d.S); err != nil {
		return Everything()
	}
	same, _ := Ordered{form: Form{Kind: AsJSON, typ: types.JSONB}}.equal(d)
	return []Interval{same}
}

// numbersOf returns the JSON numbers that an interval of a type contains after the cast, and their neighbours that are
// rounded into it.
func numbersOf(iv Interval, f Form) Interval {
	out := AllNumbers
	if low, ok := numberBelow(iv.Low, f, -1); ok {
		out.Low = low
	}
	if high, ok := numberBelow(iv.High, f, 1); ok {
		out.High = high
	}
	return out
}

// numberBelow returns a JSON number that is not above (direction -1) or not below (1) all numbers which the cast to a
// type makes a bound.
func numberBelow(l Limit, as Form, direction int) (Limit, bool) {
	if l.Inf {
		return Limit{}, false
	}
	d, m := l.Val, as.moved
	var f float64
	switch {
	case d.K == types.KInt && m.part == 0 && max(d.I, -d.I) < 1<<53:
		return jsonLimit(strconv.FormatInt(d.I+int64(direction), 10))
	case d.K == types.KInt && (d.I == math.MinInt64 || d.I == math.MaxInt64):
		return Limit{}, false
	case d.K == types.KInt:
		f = float64(d.I)
	case d.K == types.KFloat:
		f = d.Float()
	case d.K == types.KNumeric && d.Decimal().IsFinite():
		f = d.Decimal().Float64()
	default:
		return Limit{}, false
	}
	if as.Mod != 0 {
		m.step += types.NumericStep(as.Mod) // which are rounded to the bound
	}
	to := math.Inf(direction)
	f += float64(direction) * (m.step + m.part*math.Abs(f))
	// The order of views rounds numbers with a fraction or an exponent to the nearest double.
	f = math.Nextafter(math.Nextafter(f, to), to)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return Limit{}, false
	}
	return jsonLimit(strconv.FormatFloat(f, 'g', -1, 64))
}

func jsonLimit(number string) (Limit, bool) { return Limit{Val: types.NewJSONText(number)}, true }

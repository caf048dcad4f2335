package plan

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

// formKind says how an expression presents a JSON value.
type formKind uint8

const (
	asJSON    formKind = iota // the value itself
	asString                  // the text of a string, NULL for any other value: the operand of LIKE
	asText                    // the result of ->>
	asPrinted                 // the value's JSON text: ::text
	asNumber                  // cast to a type of numbers
	asParsed                  // the result of ->>, cast to a type of numbers
)

// form is a form with the type of its values, and the modifier of that type, as in numeric(10,2), or 0.
type form struct {
	kind formKind
	typ  types.OID
	mod  int32
}

// locator finds a JSON value in expressions. text reports that the expression is the value as ->> returns it.
type locator func(e exec.Expr) (found, text bool)

// columnAt locates a column.
func columnAt(index int) locator {
	return func(e exec.Expr) (found, text bool) {
		c, ok := e.(*exec.Col)
		return ok && c.Depth == 0 && c.Index == index, false
	}
}

// formOf returns the form in which an expression presents the located value.
func (at locator) formOf(e exec.Expr) (form, bool) {
	e = collation.WithoutBytes(e)
	if found, text := at(e); found {
		if text {
			return form{asText, types.Text, 0}, true
		}
		return form{asJSON, types.JSONB, 0}, true
	}
	switch n := e.(type) {
	case *exec.Call:
		if n.Func == texts.JSONStringText {
			if f, ok := at.formOf(n.Args[0]); ok && f.kind == asJSON {
				return form{asString, types.Text, 0}, true
			}
		}
		if (n.Op == "#>>" || n.Op == "#>") && isEmptyPath(n.Args[1]) {
			if f, ok := at.formOf(n.Args[0]); ok && f.kind == asJSON {
				return form{map[string]formKind{"#>>": asText, "#>": asJSON}[n.Op], n.Typ, 0}, true
			}
		}
	case *exec.CastExpr:
		f, ok := at.formOf(n.X)
		switch {
		case !ok:
		case n.Mod != -1:
			switch {
			case f.mod != 0:
			case n.To == types.VarChar && (f.kind == asString || f.kind == asText):
				return form{f.kind, types.Text, n.Mod}, true
			case n.To == types.Numeric && f.kind == asJSON:
				return form{asNumber, n.To, n.Mod}, true
			case n.To == types.Numeric && f.kind == asText:
				return form{asParsed, n.To, n.Mod}, true
			}
		case n.To == types.Text || n.To == types.VarChar:
			switch f.kind {
			case asJSON:
				return form{asPrinted, types.Text, 0}, true
			case asString, asText, asPrinted:
				return f, true
			}
		case types.IsNumber(n.To) && f.mod == 0:
			switch f.kind {
			case asJSON, asNumber:
				return form{asNumber, n.To, 0}, true
			case asText, asParsed:
				return form{asParsed, n.To, 0}, true
			}
		}
	}
	return form{}, false
}

func isEmptyPath(e exec.Expr) bool {
	c, ok := e.(*exec.Const)
	return ok && !c.D.IsNull() && c.D.K == types.KArray && len(c.D.Array().Items) == 0
}

// forms returns the forms in which conditions look at the located value, without asJSON.
func (at locator) forms(conds []exec.Expr) []form {
	var list []form
	var walk func(e exec.Expr) exec.Expr
	walk = func(e exec.Expr) exec.Expr {
		if f, ok := at.formOf(e); ok {
			if f.kind != asJSON && !slices.Contains(list, f) {
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

// allowed returns intervals outside of which a value does not satisfy the conditions, in the order of views.
func (at locator) allowed(conds []exec.Expr, inJSON bool) intervals {
	set := everything()
	if inJSON {
		col := ordered{at: at, form: form{asJSON, types.JSONB, 0}}
		for _, c := range conds {
			s, _ := col.analyse(c)
			set = set.intersect(s)
		}
	}
	for _, f := range at.forms(conds) {
		col, in := ordered{at: at, form: f}, everything()
		for _, c := range conds {
			s, _ := col.analyse(c)
			in = in.intersect(s)
		}
		if !in.unbounded() {
			set = set.intersect(f.values(in))
		}
	}
	return set
}

// unbounded reports whether the intervals allow any value.
func (s intervals) unbounded() bool { return len(s) == 1 && s[0].low.inf && s[0].high.inf }

// Limits of kinds of values in the order of views: null, booleans, numbers, strings, arrays, objects.
var (
	afterBooleans = limit{val: types.NewJSONText("true"), open: true}
	atStrings     = limit{val: types.NewJSONText(`""`)}
	atArrays      = limit{val: types.NewJSONText("[]")}
	allNumbers    = interval{afterBooleans, below(atStrings)}
	allStrings    = interval{atStrings, below(atArrays)}
	allLists      = interval{atArrays, limit{inf: true}}
)

// below returns the upper end just below a value.
func below(l limit) limit {
	l.open = true
	return l
}

// values returns the JSON values whose form lies in the intervals. What would leave out only whole kinds of values is
// not worth several ranges.
func (f form) values(set intervals) intervals {
	var all []interval
	for _, iv := range set {
		switch f.kind {
		case asString, asText:
			if f.mod != 0 {
				iv = uncut(iv, int(f.mod-4))
			}
			found := stringsOf(iv)
			if found == allStrings {
				return everything()
			}
			if all = append(all, found); f.kind == asText {
				all = append(all, othersOf(iv)...)
			}
		case asPrinted:
			all = append(all, printedAs(iv)...)
		case asParsed:
			all = append(all, numbersOf(iv, f), allStrings)
		case asNumber:
			all = append(all, numbersOf(iv, f))
		}
	}
	return union(all)
}

// uncut returns the texts whose first n characters lie in an interval.
func uncut(iv interval, n int) interval {
	if high := []rune(iv.high.val.S); !iv.high.inf && len(high) >= n {
		text, ok := after(string(high[:n]))
		iv.high = limit{val: types.NewText(text), open: true, inf: !ok}
	}
	return iv
}

// replacement stands for characters that a text cannot have.
const replacement = "\ufffd"

// stringsOf returns the JSON strings whose text lies in an interval of texts, which are ordered by their bytes.
func stringsOf(iv interval) interval {
	if iv.isPoint() && !strings.Contains(iv.low.val.S, replacement) {
		return point(jsonString(iv.low.val.S))
	}
	low, high := commonPrefix(iv)
	if low == "" {
		return allStrings
	}
	out := interval{limit{val: jsonString(low)}, below(atArrays)}
	if high != "" {
		out.high = limit{val: jsonString(high), open: true}
	}
	return out
}

func jsonString(s string) types.Datum { return types.NewJSON(jsontext.AppendQuoted(nil, s)) }

// commonPrefix returns the strings between which all texts of an interval collate, the second one excluded. They are
// found from the prefix that all of these texts have, of characters whose place does not depend on what follows. Empty
// strings are no bounds.
func commonPrefix(iv interval) (low, high string) {
	if iv.low.inf || iv.high.inf {
		return "", ""
	}
	from, to := iv.low.val.S, iv.high.val.S
	if iv.isPoint() {
		to += "\x00"
	} else if !iv.high.open {
		to += "\x00" // the smallest text above it
	}
	n := 0
	for n < len(from) && placeOf(from[n]) >= 0 {
		if next, ok := after(from[:n+1]); !ok || to > next {
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
func othersOf(iv interval) []interval {
	if iv.isPoint() {
		text := iv.low.val.S
		switch kind := types.JSONKindOf(text); {
		case strings.Contains(text, replacement):
			return []interval{allLists}
		case kind == types.JSONString || text == "null":
			return nil
		default:
			return printedAs(iv)
		}
	}
	var out []interval
	for _, kind := range []struct {
		first string
		iv    interval
	}{
		{"-0123456789", allNumbers},
		{"ft", interval{limit{val: types.NewJSONText("false")}, limit{val: types.NewJSONText("true")}}},
		{"[{", allLists},
	} {
		if strings.ContainsFunc(kind.first, func(c rune) bool {
			text, next := types.NewText(string(c)), types.NewText(string(c+1))
			return intervals{iv}.intersect(intervals{{limit{val: text}, limit{val: next, open: true}}}) != nil
		}) {
			out = append(out, kind.iv)
		}
	}
	return out
}

// printedAs returns the values that are printed as a text of an interval.
func printedAs(iv interval) []interval {
	if !iv.isPoint() || strings.Contains(iv.low.val.S, replacement) {
		return everything()
	}
	d, err := types.ParseJSON(iv.low.val.S)
	if err != nil {
		return nil // values are printed as JSON
	}
	if _, err := types.CompareJSON(d.S, d.S); err != nil {
		return everything()
	}
	same, _ := ordered{form: form{asJSON, types.JSONB, 0}}.equal(d)
	return []interval{same}
}

// numbersOf returns the JSON numbers that an interval of a type contains after the cast, and their neighbours that are
// rounded into it.
func numbersOf(iv interval, f form) interval {
	out := allNumbers
	if low, ok := numberBelow(iv.low, f, -1); ok {
		out.low = low
	}
	if high, ok := numberBelow(iv.high, f, 1); ok {
		out.high = high
	}
	return out
}

// numberBelow returns a JSON number that is not above (direction -1) or not below (1) all numbers which the cast to a
// type makes a bound.
func numberBelow(l limit, as form, direction int) (limit, bool) {
	if l.inf {
		return limit{}, false
	}
	var text string
	switch d := l.val; d.K {
	case types.KInt:
		if d.I == math.MinInt64 || d.I == math.MaxInt64 {
			return limit{}, false
		}
		text = strconv.FormatInt(d.I+int64(direction), 10)
	case types.KFloat:
		to := math.Inf(direction)
		f := d.Float()
		if as.typ == types.Float4 {
			f = float64(math.Nextafter32(float32(f), float32(to)))
		}
		f = math.Nextafter(math.Nextafter(f, to), to)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return limit{}, false
		}
		text = strconv.FormatFloat(f, 'g', -1, 64)
	case types.KNumeric:
		if !d.Decimal().IsFinite() {
			return limit{}, false
		}
		// The order of views rounds numbers with a fraction.
		f := d.Decimal().Float64()
		if as.mod != 0 {
			f += float64(direction) * types.NumericStep(as.mod) // which are rounded to the bound
		}
		f = math.Nextafter(f, math.Inf(direction))
		if math.IsInf(f, 0) {
			return limit{}, false
		}
		text = strconv.FormatFloat(f, 'g', -1, 64)
	default:
		return limit{}, false
	}
	return limit{val: types.NewJSONText(text)}, true
}

// Package ranges finds the part of a sorted column that can satisfy conditions: intervals of ids, sequences, or keys of
// a view. They never leave out a value that satisfies the conditions. Package plan decides what is read for them.
package ranges

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/types"
)

// Intervals describe which part of a relation's order can satisfy a condition: sets of intervals of the column that a
// read is sorted by.

// Limit is one end of an interval: a value, which is not in the interval if it is open, or none if Inf is set.
type Limit struct {
	Val  types.Datum
	Open bool
	Inf  bool
}

// None is the limit of an interval that has none.
var None = Limit{Inf: true}

// Interval is the values between two limits.
type Interval struct{ Low, High Limit }

// Between returns the interval of two limits.
func Between(low, high Limit) Interval { return Interval{low, high} }

// compare compares in the order of the read; keys of a view are in the view's order.
func compare(a, b types.Datum) (int, error) {
	if a.K == types.KJSON && b.K == types.KJSON {
		return types.CompareJSON(a.S, b.S)
	}
	return types.Compare(a, b)
}

// Intervals are disjoint and sorted.
type Intervals []Interval

// MaxPoints is the most keys or ids in one read.
const MaxPoints = 10000

// Everything returns the interval without bounds.
func Everything() Intervals { return Intervals{{Limit{Inf: true}, Limit{Inf: true}}} }

// Point returns the interval of one value.
func Point(d types.Datum) Interval { return Interval{Limit{Val: d}, Limit{Val: d}} }

// PointOf is Point for a JSON text.
func PointOf(json string) Interval { return Point(types.NewJSONText(json)) }

// IsPoint reports whether an interval is one value.
func (iv Interval) IsPoint() bool {
	if iv.Low.Inf || iv.High.Inf || iv.Low.Open || iv.High.Open {
		return false
	}
	c, err := compare(iv.Low.Val, iv.High.Val)
	return err == nil && c == 0
}

// CompareLow compares lower ends, CompareHigh upper ends. Values that cannot be compared (an absurd number in a key)
// are equal; the caller has checked each value before.
func CompareLow(a, b Limit) int {
	switch {
	case a.Inf && b.Inf:
		return 0
	case a.Inf:
		return -1
	case b.Inf:
		return 1
	}
	c, _ := compare(a.Val, b.Val)
	switch {
	case c != 0 || a.Open == b.Open:
		return c
	case a.Open:
		return 1
	}
	return -1
}

// CompareHigh is CompareLow for upper ends.
func CompareHigh(a, b Limit) int {
	switch {
	case a.Inf && b.Inf:
		return 0
	case a.Inf:
		return 1
	case b.Inf:
		return -1
	}
	c, _ := compare(a.Val, b.Val)
	switch {
	case c != 0 || a.Open == b.Open:
		return c
	case a.Open:
		return -1
	}
	return 1
}

// empty reports whether no value lies between the ends.
func (iv Interval) empty() bool {
	if iv.Low.Inf || iv.High.Inf {
		return false
	}
	c, _ := compare(iv.Low.Val, iv.High.Val)
	return c > 0 || c == 0 && (iv.Low.Open || iv.High.Open)
}

// Intersect returns the values that both sets have.
func (s Intervals) Intersect(o Intervals) Intervals {
	var out Intervals
	for i, j := 0, 0; i < len(s) && j < len(o); {
		iv := s[i]
		if CompareLow(o[j].Low, iv.Low) > 0 {
			iv.Low = o[j].Low
		}
		if CompareHigh(o[j].High, iv.High) < 0 {
			iv.High = o[j].High
		}
		if !iv.empty() {
			out = append(out, iv)
		}
		if CompareHigh(s[i].High, o[j].High) < 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

// Union returns the values of any of some intervals, in any order. It sorts them.
func Union(all Intervals) Intervals {
	slices.SortStableFunc(all, func(a, b Interval) int { return CompareLow(a.Low, b.Low) })
	var out Intervals
	for _, iv := range all {
		if iv.empty() {
			continue
		}
		if n := len(out); n > 0 && touches(out[n-1].High, iv.Low) {
			if CompareHigh(iv.High, out[n-1].High) > 0 {
				out[n-1].High = iv.High
			}
			continue
		}
		out = append(out, iv)
	}
	return out
}

// touches reports whether no value lies between an upper end and a lower end.
func touches(high, low Limit) bool {
	if high.Inf || low.Inf {
		return true
	}
	c, _ := compare(high.Val, low.Val)
	return c > 0 || c == 0 && !(high.Open && low.Open)
}

// AllPoints reports whether each interval is one value.
func (s Intervals) AllPoints() bool {
	return !slices.ContainsFunc(s, func(iv Interval) bool { return !iv.IsPoint() })
}

// Hull returns the smallest interval around all.
func (s Intervals) Hull() Intervals {
	if len(s) < 2 {
		return s
	}
	return Intervals{{s[0].Low, s[len(s)-1].High}}
}

// Ordered is the value that the intervals refer to, in one form.
type Ordered struct {
	at   Locator
	form Form
	// groups is set if reductions are read, in which keys that are equal in the view are one group.
	groups bool
}

// Column returns the column of a read.
func Column(index int, typ types.OID, groups bool) Ordered {
	kind := AsText
	if typ == types.JSONB {
		kind = AsJSON
	}
	at := ColumnAt(index)
	if typ != types.JSONB {
		at = func(e exec.Expr) (found, text bool) {
			found, _ = ColumnAt(index)(e)
			return found, true
		}
	}
	return Ordered{at, Form{Kind: kind, typ: typ}, groups}
}

// is reports whether e is the value in the form.
func (o Ordered) is(e exec.Expr) bool {
	f, ok := o.at.FormOf(e)
	return ok && f == o.form
}

// Analyse returns intervals outside of which e is not true. exact reports whether e is true everywhere inside them.
func (o Ordered) Analyse(e exec.Expr) (set Intervals, exact bool) {
	switch n := e.(type) {
	case *exec.Const:
		if n.Typ == types.Bool {
			if n.D.True() {
				return Everything(), true
			}
			return nil, true
		}
	case *exec.Logic:
		return o.analyseLogic(n)
	case *exec.In:
		if o.is(n.X) && !n.Not {
			return o.Points(n.List)
		}
	case *exec.Any:
		if o.is(n.X) && !n.All && n.Symbol == "=" {
			if c, ok := n.Array.(*exec.Const); ok {
				return o.anyPoints(c)
			}
		}
	case *exec.Call:
		return o.analyseCall(n)
	}
	return Everything(), false
}

func (o Ordered) analyseLogic(n *exec.Logic) (Intervals, bool) {
	exact := true
	switch n.Op {
	case "and":
		set := Everything()
		for _, a := range n.Args {
			s, ex := o.Analyse(a)
			set, exact = set.Intersect(s), exact && ex
		}
		return set, exact
	case "or":
		var all Intervals
		for _, a := range n.Args {
			s, ex := o.Analyse(a)
			all, exact = append(all, s...), exact && ex
		}
		return Union(all), exact
	}
	return Everything(), false
}

// usable reports whether a constant can be a bound of the column.
func (o Ordered) usable(d types.Datum) bool {
	if d.IsNull() || d.K != types.KindOf(o.form.typ) {
		return false
	}
	_, err := compare(d, d)
	return err == nil
}

// Points returns the intervals of a list of constants. NULL is skipped, because nothing equals it.
func (o Ordered) Points(list []exec.Expr) (Intervals, bool) {
	var all Intervals
	exact := true
	for _, e := range list {
		c, ok := e.(*exec.Const)
		if !ok {
			return Everything(), false
		}
		if c.D.IsNull() {
			continue
		}
		if !o.usable(c.D) {
			return Everything(), false
		}
		iv, ex := o.equal(c.D)
		all, exact = append(all, iv), exact && ex
	}
	return Union(all), exact
}

func (o Ordered) anyPoints(c *exec.Const) (Intervals, bool) {
	if c.D.IsNull() {
		return nil, true
	}
	var list []exec.Expr
	for _, it := range c.D.Array().Items {
		if it.K == types.KText && o.form.typ == types.JSONB {
			it = types.NewJSON(jsontext.AppendQuoted(nil, it.S))
		}
		list = append(list, &exec.Const{D: it, Typ: o.form.typ})
	}
	return o.Points(list)
}

func (o Ordered) analyseCall(n *exec.Call) (Intervals, bool) {
	if len(n.Args) != 2 || n.Func.Collation != nil {
		return Everything(), false
	}
	op, left, right := n.Op, n.Args[0], n.Args[1]
	if _, ok := left.(*exec.Const); ok {
		mirror := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		if mirror == "" {
			return Everything(), false
		}
		op, left, right = mirror, right, left
	}
	c, ok := right.(*exec.Const)
	if !ok || !o.is(left) {
		return Everything(), false
	}
	if o.form.typ != types.JSONB {
		if prefix, ok := prefixOf(n, c.D); ok {
			return o.prefix(prefix)
		}
	}
	if c.D.IsNull() {
		switch op {
		case "=", "<", "<=", ">", ">=":
			return nil, true
		}
	}
	if !o.usable(c.D) {
		return Everything(), false
	}
	inf := Limit{Inf: true}
	switch op {
	case "=":
		iv, exact := o.equal(c.D)
		return Intervals{iv}, exact
	}
	if c.D.K == types.KJSON && LeastEqual(c.D.S) != "" {
		return Everything(), false // the view orders objects with members by the order of the members
	}
	switch op {
	case "<", "<=":
		return Intervals{{inf, Limit{Val: c.D, Open: op == "<"}}}, true
	case ">", ">=":
		return Intervals{{Limit{Val: c.D, Open: op == ">"}, inf}}, true
	}
	return Everything(), false
}

// textPrefix is what a condition requires of the beginning of a text.
type textPrefix struct {
	never bool // it is never true
	text  string
	// whole is set if the text must be this one, exact if any text with the prefix satisfies the condition.
	whole, exact bool
}

// prefixOf returns the prefix that LIKE, starts_with() or a regular expression requires.
func prefixOf(n *exec.Call, pattern types.Datum) (p textPrefix, ok bool) {
	switch {
	case n.Op != "~~" && n.Op != "~" && !(n.Op == "" && n.Func.Name == "starts_with"):
		return p, false
	case pattern.IsNull():
		return textPrefix{never: true}, true
	case n.Op == "~~":
		p.text, p.exact, p.whole = texts.LikePrefix(pattern.S)
	case n.Op == "~":
		p.text = regexPrefix(pattern.S)
	default:
		p.text, p.exact = pattern.S, true
	}
	return p, true
}

// regexPrefix returns the text that a regular expression in PostgreSQL's syntax begins with, "" if it is not obvious.
func regexPrefix(pattern string) string {
	rest, ok := strings.CutPrefix(pattern, "^")
	if !ok || strings.Contains(rest, "|") {
		return ""
	}
	n := strings.IndexAny(rest, `\.[](){}*+?^$`)
	if n < 0 {
		return rest
	}
	prefix := rest[:n]
	if n > 0 && strings.IndexByte("*?{", rest[n]) >= 0 {
		_, last := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:n-last]
	}
	return prefix
}

// prefix returns the texts that begin with a prefix. They sort by bytes.
func (o Ordered) prefix(p textPrefix) (Intervals, bool) {
	switch {
	case p.never:
		return nil, true
	case p.whole:
		return Intervals{Point(types.NewText(p.text))}, true
	case p.text == "":
		return Everything(), p.exact
	}
	high := Limit{Inf: true}
	if s, ok := After(p.text); ok {
		high = Limit{Val: types.NewText(s), Open: true}
	}
	return Intervals{{Limit{Val: types.NewText(p.text)}, high}}, p.exact
}

// After returns the smallest text above all texts with prefix s; false if there is none.
func After(s string) (string, bool) {
	r := []rune(s)
	for i := len(r) - 1; i >= 0; i-- {
		if r[i] < utf8.MaxRune {
			next := r[i] + 1
			if next >= 0xd800 && next <= 0xdfff {
				next = 0xe000
			}
			return string(r[:i]) + string(next), true
		}
	}
	return "", false
}

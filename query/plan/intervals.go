package plan

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

// limit is one end of an interval. inf means unbounded.
type limit struct {
	val  types.Datum
	open bool
	inf  bool
}

type interval struct{ low, high limit }

// compare compares in the order of the read; keys of a view are in the view's order.
func compare(a, b types.Datum) (int, error) {
	if a.K == types.KJSON && b.K == types.KJSON {
		return types.CompareJSON(a.S, b.S)
	}
	return types.Compare(a, b)
}

// intervals are disjoint and sorted.
type intervals []interval

func everything() intervals { return intervals{{limit{inf: true}, limit{inf: true}}} }

func point(d types.Datum) interval { return interval{limit{val: d}, limit{val: d}} }

func (iv interval) isPoint() bool {
	if iv.low.inf || iv.high.inf || iv.low.open || iv.high.open {
		return false
	}
	c, err := compare(iv.low.val, iv.high.val)
	return err == nil && c == 0
}

// compareLow compares lower ends, compareHigh upper ends. Values that cannot be compared (an absurd number in a key)
// are equal; the caller has checked each value before.
func compareLow(a, b limit) int {
	switch {
	case a.inf && b.inf:
		return 0
	case a.inf:
		return -1
	case b.inf:
		return 1
	}
	c, _ := compare(a.val, b.val)
	switch {
	case c != 0 || a.open == b.open:
		return c
	case a.open:
		return 1
	}
	return -1
}

func compareHigh(a, b limit) int {
	switch {
	case a.inf && b.inf:
		return 0
	case a.inf:
		return 1
	case b.inf:
		return -1
	}
	c, _ := compare(a.val, b.val)
	switch {
	case c != 0 || a.open == b.open:
		return c
	case a.open:
		return -1
	}
	return 1
}

// empty reports whether no value lies between the ends.
func (iv interval) empty() bool {
	if iv.low.inf || iv.high.inf {
		return false
	}
	c, _ := compare(iv.low.val, iv.high.val)
	return c > 0 || c == 0 && (iv.low.open || iv.high.open)
}

func (s intervals) intersect(o intervals) intervals {
	var out intervals
	for i, j := 0, 0; i < len(s) && j < len(o); {
		iv := s[i]
		if compareLow(o[j].low, iv.low) > 0 {
			iv.low = o[j].low
		}
		if compareHigh(o[j].high, iv.high) < 0 {
			iv.high = o[j].high
		}
		if !iv.empty() {
			out = append(out, iv)
		}
		if compareHigh(s[i].high, o[j].high) < 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

func union(all intervals) intervals {
	slices.SortStableFunc(all, func(a, b interval) int { return compareLow(a.low, b.low) })
	var out intervals
	for _, iv := range all {
		if iv.empty() {
			continue
		}
		if n := len(out); n > 0 && touches(out[n-1].high, iv.low) {
			if compareHigh(iv.high, out[n-1].high) > 0 {
				out[n-1].high = iv.high
			}
			continue
		}
		out = append(out, iv)
	}
	return out
}

// touches reports whether no value lies between an upper end and a lower end.
func touches(high, low limit) bool {
	if high.inf || low.inf {
		return true
	}
	c, _ := compare(high.val, low.val)
	return c > 0 || c == 0 && !(high.open && low.open)
}

// hull returns the smallest interval around all.
func (s intervals) hull() intervals {
	if len(s) < 2 {
		return s
	}
	return intervals{{s[0].low, s[len(s)-1].high}}
}

// ordered is the value that the intervals refer to, in one form.
type ordered struct {
	at   locator
	form form
	// groups is set if reductions are read, in which keys that are equal in the view are one group.
	groups bool
}

// column returns the column of a read.
func column(index int, typ types.OID, groups bool) ordered {
	kind := asText
	if typ == types.JSONB {
		kind = asJSON
	}
	at := columnAt(index)
	if typ != types.JSONB {
		at = func(e exec.Expr) (found, text bool) {
			found, _ = columnAt(index)(e)
			return found, true
		}
	}
	return ordered{at, form{kind, typ, 0}, groups}
}

// is reports whether e is the value in the form.
func (o ordered) is(e exec.Expr) bool {
	f, ok := o.at.formOf(e)
	return ok && f == o.form
}

// analyse returns intervals outside of which e is not true. exact reports whether e is true everywhere inside them.
func (o ordered) analyse(e exec.Expr) (set intervals, exact bool) {
	switch n := e.(type) {
	case *exec.Const:
		if n.Typ == types.Bool {
			if n.D.True() {
				return everything(), true
			}
			return nil, true
		}
	case *exec.Logic:
		return o.analyseLogic(n)
	case *exec.In:
		if o.is(n.X) && !n.Not {
			return o.points(n.List)
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
	return everything(), false
}

func (o ordered) analyseLogic(n *exec.Logic) (intervals, bool) {
	exact := true
	switch n.Op {
	case "and":
		set := everything()
		for _, a := range n.Args {
			s, ex := o.analyse(a)
			set, exact = set.intersect(s), exact && ex
		}
		return set, exact
	case "or":
		var all intervals
		for _, a := range n.Args {
			s, ex := o.analyse(a)
			all, exact = append(all, s...), exact && ex
		}
		return union(all), exact
	}
	return everything(), false
}

// usable reports whether a constant can be a bound of the column.
func (o ordered) usable(d types.Datum) bool {
	if d.IsNull() || d.K != types.KindOf(o.form.typ) {
		return false
	}
	_, err := compare(d, d)
	return err == nil
}

// points returns the intervals of a list of constants. NULL is skipped, because nothing equals it.
func (o ordered) points(list []exec.Expr) (intervals, bool) {
	var all intervals
	exact := true
	for _, e := range list {
		c, ok := e.(*exec.Const)
		if !ok {
			return everything(), false
		}
		if c.D.IsNull() {
			continue
		}
		if !o.usable(c.D) {
			return everything(), false
		}
		iv, ex := o.equal(c.D)
		all, exact = append(all, iv), exact && ex
	}
	return union(all), exact
}

func (o ordered) anyPoints(c *exec.Const) (intervals, bool) {
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
	return o.points(list)
}

func (o ordered) analyseCall(n *exec.Call) (intervals, bool) {
	if len(n.Args) != 2 || n.Func.Collation != nil {
		return everything(), false
	}
	op, left, right := n.Op, n.Args[0], n.Args[1]
	if _, ok := left.(*exec.Const); ok {
		mirror := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		if mirror == "" {
			return everything(), false
		}
		op, left, right = mirror, right, left
	}
	c, ok := right.(*exec.Const)
	if !ok || !o.is(left) {
		return everything(), false
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
		return everything(), false
	}
	inf := limit{inf: true}
	switch op {
	case "=":
		iv, exact := o.equal(c.D)
		return intervals{iv}, exact
	}
	if c.D.K == types.KJSON && leastEqual(c.D.S) != "" {
		return everything(), false // the view orders objects with members by the order of the members
	}
	switch op {
	case "<", "<=":
		return intervals{{inf, limit{val: c.D, open: op == "<"}}}, true
	case ">", ">=":
		return intervals{{limit{val: c.D, open: op == ">"}, inf}}, true
	}
	return everything(), false
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
func (o ordered) prefix(p textPrefix) (intervals, bool) {
	switch {
	case p.never:
		return nil, true
	case p.whole:
		return intervals{point(types.NewText(p.text))}, true
	case p.text == "":
		return everything(), p.exact
	}
	high := limit{inf: true}
	if s, ok := after(p.text); ok {
		high = limit{val: types.NewText(s), open: true}
	}
	return intervals{{limit{val: types.NewText(p.text)}, high}}, p.exact
}

// after returns the smallest text above all texts with prefix s; false if there is none.
func after(s string) (string, bool) {
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

package facts

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// truth is what is known about whether a condition holds.
type truth uint8

const (
	maybe truth = iota
	never
	always
)

func (t truth) not() truth {
	switch t {
	case never:
		return always
	case always:
		return never
	}
	return maybe
}

// Implies reports whether a condition of a view holds for every document that satisfies the conditions of the facts.
func (f *Known) Implies(cond *rowshape.Expr) bool {
	return cond == nil || f.eval(cond).truth() == always
}

// truth returns whether a value is true in JavaScript's conditions.
func (k *Value) truth() truth {
	switch {
	case k.kinds&isFalsy == 0:
		return always
	case k.kinds&^isFalsy == 0:
		return never
	}
	return maybe
}

// boolean is a value that is true or false.
func boolean(t truth) *Value {
	return &Value{kinds: map[truth]kinds{maybe: booleans, never: isFalse, always: isTrue}[t]}
}

// eval returns what is known about the value of an expression.
func (f *Known) eval(e *rowshape.Expr) *Value {
	arg := func(i int) *Value { return f.eval(&e.Args[i]) }
	switch e.Op {
	case rowshape.Constant:
		return &Value{kinds: kindOf(e.JSON), values: []string{e.JSON}}
	case rowshape.Undefined:
		return &Value{kinds: isMissing}
	case rowshape.Member:
		return f.Of(e.Path)
	case rowshape.Composite:
		return &Value{kinds: isList | isObject}
	case rowshape.Not:
		return boolean(arg(0).truth().not())
	case rowshape.And, rowshape.Or:
		out := arg(0)
		for i := 1; i < len(e.Args); i++ {
			out = out.then(arg(i), e.Op == rowshape.Or)
		}
		return out
	case rowshape.Same:
		return boolean(same(arg(0), arg(1)))
	case rowshape.Equal:
		return boolean(equals(arg(0), arg(1)))
	case rowshape.TypeOf:
		return typeOf(arg(0))
	case rowshape.IsArray:
		k := arg(0).kinds
		switch {
		case e.Args[0].Op == rowshape.Composite:
			return boolean(maybe)
		case k&isList == 0:
			return boolean(never)
		}
		return boolean(map[bool]truth{true: always}[k == isList])
	case rowshape.Has, rowshape.Exists:
		return boolean(f.exists(e.Path))
	case rowshape.Matches, rowshape.Less, rowshape.LessEqual, rowshape.Greater, rowshape.GreaterEqual:
		return boolean(f.compared(e))
	}
	return boolean(maybe)
}

// then returns left && right, or left || right.
func (k *Value) then(right *Value, or bool) *Value {
	switch t := k.truth(); {
	case t == maybe:
		left := k.kinds & isFalsy
		if or {
			left = k.kinds &^ isFalsy
		}
		return &Value{kinds: left | right.kinds}
	case (t == always) == or:
		return k
	}
	return right
}

func (f *Known) exists(path []string) truth {
	switch k := f.Of(path).kinds; {
	case k&isMissing == 0:
		return always
	case k == isMissing:
		return never
	}
	return maybe
}

// compared returns whether a member lies on a side of a constant, in the order of views.
func (f *Known) compared(e *rowshape.Expr) truth {
	k := f.Of(e.Path)
	if k.kinds&isMissing != 0 {
		return maybe
	}
	d := types.NewJSONText(e.JSON)
	if _, err := types.CompareJSON(d.S, d.S); err != nil || ranges.LeastEqual(d.S) != "" {
		return maybe
	}
	l, inf := ranges.Limit{Val: d}, ranges.None
	var in ranges.Interval
	switch e.Op {
	case rowshape.Matches:
		in = ranges.Point(d)
	case rowshape.Less:
		in = ranges.Between(inf, ranges.Below(l))
	case rowshape.LessEqual:
		in = ranges.Between(inf, l)
	case rowshape.Greater:
		in = ranges.Between(ranges.Below(l), inf)
	default:
		in = ranges.Between(l, inf)
	}
	for _, iv := range k.Allowed {
		if ranges.CompareLow(iv.Low, in.Low) < 0 || ranges.CompareHigh(iv.High, in.High) > 0 {
			return maybe
		}
	}
	return always
}

// javaScriptKinds groups the kinds by what === can make equal.
var javaScriptKinds = []kinds{isMissing, isNull, booleans, numbers, textual, isList | isObject}

// same returns whether a === b.
func same(a, b *Value) truth {
	common := false
	for _, k := range javaScriptKinds {
		common = common || a.kinds&k != 0 && b.kinds&k != 0
	}
	if !common {
		return never
	}
	for _, k := range []kinds{isMissing, isNull, isFalse, isTrue, isZero, isEmpty} {
		if a.kinds == k && b.kinds == k {
			return always
		}
	}
	if a.values == nil || b.values == nil {
		return maybe
	}
	some, all := false, true
	for _, v := range a.values {
		for _, w := range b.values {
			is := sameValue(v, w)
			some, all = some || is, all && is
		}
	}
	switch {
	case all && a.kinds&isMissing == 0 && b.kinds&isMissing == 0:
		return always
	case !some:
		return never
	}
	return maybe
}

// sameValue reports whether two scalars are the same in JavaScript.
func sameValue(v, w string) bool {
	v, w = strings.TrimSpace(v), strings.TrimSpace(w)
	kind := types.JSONKindOf(v)
	if kind != types.JSONKindOf(w) {
		return false
	}
	switch kind {
	case types.JSONNumber:
		x, err := strconv.ParseFloat(v, 64)
		y, err2 := strconv.ParseFloat(w, 64)
		return err == nil && err2 == nil && x == y
	case types.JSONString:
		return types.JSONUnquote(v) == types.JSONUnquote(w)
	}
	return v == w
}

// equals returns whether a == b, if JavaScript does not have to convert one.
func equals(a, b *Value) truth {
	none := isMissing | isNull
	switch {
	case a.kinds&^none == 0 && b.kinds&^none == 0:
		return always
	case a.kinds&^none == 0 && b.kinds&none == 0, b.kinds&^none == 0 && a.kinds&none == 0:
		return never
	}
	for _, k := range javaScriptKinds[2:] {
		if a.kinds&^k == 0 && b.kinds&^k == 0 {
			return same(a, b)
		}
	}
	return maybe
}

// typeOf returns typeof k.
func typeOf(k *Value) *Value {
	out := &Value{kinds: isString}
	for _, t := range []struct {
		kinds kinds
		name  string
	}{
		{isMissing, `"undefined"`}, {booleans, `"boolean"`}, {numbers, `"number"`}, {textual, `"string"`},
		{isNull | isList | isObject, `"object"`},
	} {
		if k.kinds&t.kinds != 0 {
			out.values = append(out.values, t.name)
		}
	}
	return out
}

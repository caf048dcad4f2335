package plan

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/rowshape"
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

// implies reports whether a condition of a view holds for every document that satisfies the conditions of the facts.
func (f *facts) implies(cond *rowshape.Expr) bool {
	return cond == nil || f.eval(cond).truth() == always
}

// truth returns whether a value is true in JavaScript's conditions.
func (k *known) truth() truth {
	switch {
	case k.kinds&isFalsy == 0:
		return always
	case k.kinds&^isFalsy == 0:
		return never
	}
	return maybe
}

// boolean is a value that is true or false.
func boolean(t truth) *known {
	return &known{kinds: map[truth]kinds{maybe: booleans, never: isFalse, always: isTrue}[t]}
}

// eval returns what is known about the value of an expression.
func (f *facts) eval(e *rowshape.Expr) *known {
	arg := func(i int) *known { return f.eval(&e.Args[i]) }
	switch e.Op {
	case rowshape.Constant:
		return &known{kinds: kindOf(e.JSON), values: []string{e.JSON}}
	case rowshape.Undefined:
		return &known{kinds: isMissing}
	case rowshape.Member:
		return f.of(e.Path)
	case rowshape.Composite:
		return &known{kinds: isList | isObject}
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
func (k *known) then(right *known, or bool) *known {
	switch t := k.truth(); {
	case t == maybe:
		left := k.kinds & isFalsy
		if or {
			left = k.kinds &^ isFalsy
		}
		return &known{kinds: left | right.kinds}
	case (t == always) == or:
		return k
	}
	return right
}

func (f *facts) exists(path []string) truth {
	switch k := f.of(path).kinds; {
	case k&isMissing == 0:
		return always
	case k == isMissing:
		return never
	}
	return maybe
}

// compared returns whether a member lies on a side of a constant, in the order of views.
func (f *facts) compared(e *rowshape.Expr) truth {
	k := f.of(e.Path)
	if k.kinds&isMissing != 0 {
		return maybe
	}
	d := types.NewJSONText(e.JSON)
	if _, err := types.CompareJSON(d.S, d.S); err != nil || leastEqual(d.S) != "" {
		return maybe
	}
	l, inf := limit{val: d}, limit{inf: true}
	var in interval
	switch e.Op {
	case rowshape.Matches:
		in = point(d)
	case rowshape.Less:
		in = interval{inf, below(l)}
	case rowshape.LessEqual:
		in = interval{inf, l}
	case rowshape.Greater:
		in = interval{below(l), inf}
	default:
		in = interval{l, inf}
	}
	for _, iv := range k.allowed {
		if compareLow(iv.low, in.low) < 0 || compareHigh(iv.high, in.high) > 0 {
			return maybe
		}
	}
	return always
}

// javaScriptKinds groups the kinds by what === can make equal.
var javaScriptKinds = []kinds{isMissing, isNull, booleans, numbers, textual, isList | isObject}

// same returns whether a === b.
func same(a, b *known) truth {
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
func equals(a, b *known) truth {
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
func typeOf(k *known) *known {
	out := &known{kinds: isString}
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

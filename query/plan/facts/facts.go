// Package facts finds what the conditions of a statement say about the members of documents: whether these satisfy the
// condition of a view, and which keys they have there. Which view is read for them is decided in package plan.
package facts

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// kinds is a set of kinds of JSON values, as JavaScript's conditions tell them apart.
type kinds uint16

const (
	isMissing kinds = 1 << iota
	isNull
	isFalse
	isTrue
	isZero
	isNumber // other than zero
	isEmpty  // the empty string
	isString // any other
	isList
	isObject

	anyKind  = isObject<<1 - 1
	isFalsy  = isMissing | isNull | isFalse | isZero | isEmpty
	numbers  = isZero | isNumber
	textual  = isEmpty | isString
	booleans = isFalse | isTrue
)

// Value is what conditions say about a value.
type Value struct {
	kinds kinds
	// values are the only values that it can have, as JSON; nil if that is not known. Numbers are equal to one of them,
	// strings are one of them.
	values []string
	// Allowed are intervals that contain the value if it exists.
	Allowed ranges.Intervals
}

// Known are what holds for the documents that satisfy conditions.
type Known struct {
	conds []exec.Expr
	doc   int // the column
	env   *exec.Env
	found map[string]*Value
	// allowed are intervals of members, which are often all that is asked for.
	allowed map[string]ranges.Intervals
}

// New returns what conditions on a column of documents say. env evaluates constants.
func New(conds []exec.Expr, doc int, env *exec.Env) *Known {
	return &Known{conds, doc, env, map[string]*Value{}, map[string]ranges.Intervals{}}
}

// Of returns what is known about a member.
func (f *Known) Of(path []string) *Value {
	name := strings.Join(path, "\x00")
	if k := f.found[name]; k != nil {
		return k
	}
	at := memberAt(f.doc, path)
	k := &Value{kinds: anyKind, Allowed: f.Allowed(path)}
	f.found[name] = k
	atObjects := ranges.Limit{Val: types.NewJSONText(ranges.NoMembers)}
	for _, kind := range []struct {
		kinds kinds
		iv    ranges.Interval
	}{
		{isNull, ranges.PointOf("null")}, {isFalse, ranges.PointOf("false")}, {isTrue, ranges.PointOf("true")},
		{isZero, ranges.PointOf("0")},
		{isNumber, ranges.AllNumbers}, {isEmpty, ranges.PointOf(`""`)}, {isString, ranges.AllStrings},
		{isList, ranges.Between(ranges.AtArrays, ranges.Below(atObjects))},
		{isObject, ranges.Between(atObjects, ranges.None)},
	} {
		if k.Allowed.Intersect(ranges.Intervals{kind.iv}) == nil {
			k.kinds &^= kind.kinds
		}
	}
	if !k.Allowed.Unbounded() {
		k.kinds &^= isMissing // the conditions are not true for NULL
	}
	for _, c := range f.conds {
		k.kinds &= f.satisfied(c, path)
		if values, ok := exactValues(c, at); ok {
			k.values = intersection(k.values, values)
		}
	}
	if k.values != nil {
		var some kinds
		for _, v := range k.values {
			some |= kindOf(v)
		}
		k.kinds &= some
	}
	return k
}

// Allowed returns intervals that contain a member if it exists.
func (f *Known) Allowed(path []string) ranges.Intervals {
	name := strings.Join(path, "\x00")
	set, ok := f.allowed[name]
	if !ok {
		set = memberAt(f.doc, path).Allowed(f.conds, true)
		f.allowed[name] = set
	}
	return set
}

// Texts returns the texts, in the order of their bytes, that a member can have.
func (f *Known) Texts(path []string) ranges.Intervals { return memberAt(f.doc, path).Texts(f.conds) }

// MayBeNull reports whether the member may be null, or there may be none.
func (k *Value) MayBeNull() bool { return k.kinds&(isMissing|isNull) != 0 }

// kindOf returns the kind of a JSON value.
func kindOf(v string) kinds {
	v = strings.TrimSpace(v)
	switch types.JSONKindOf(v) {
	case types.JSONNull:
		return isNull
	case types.JSONBool:
		return map[bool]kinds{true: isTrue, false: isFalse}[v == "true"]
	case types.JSONNumber:
		// A number so small that JavaScript rounds it to zero is both.
		if strings.Trim(v, "-0.eE+") == "" {
			return isZero
		}
		return numbers
	case types.JSONString:
		return map[bool]kinds{true: isEmpty, false: isString}[v == `""`]
	case types.JSONList:
		return isList
	}
	return isObject
}

// satisfied returns the kinds of a member for which a condition may be true. It tries it for the kinds that have one
// value only and, if the condition looks only at members of the value, for those that have no members.
func (f *Known) satisfied(cond exec.Expr, path []string) kinds {
	out := anyKind
	for _, kind := range []struct {
		kind kinds
		json string // "" for a missing member
		one  bool   // the kind has one value
	}{{isMissing, "", true}, {isNull, "null", true}, {isFalse, "false", true}, {isTrue, "true", true},
		{isEmpty, `""`, true}, {isZero, "0", false}, {isNumber, "1", false}, {isString, `"x"`, false},
		{isList, "[]", false}} {
		ok := true
		var replace func(e exec.Expr) exec.Expr
		replace = func(e exec.Expr) exec.Expr {
			p, text, is := MemberOf(e, f.doc)
			switch {
			case !is || len(p) < len(path) || !slices.Equal(p[:len(path)], path):
				return exec.RewriteChildren(e, replace)
			case len(p) == len(path):
				ok = ok && kind.one
				return Sample(kind.json, text)
			}
			ok = ok && (kind.kind != isList || strings.Trim(p[len(path)], "0123456789-") != "")
			return exec.NullOf(e.Type())
		}
		if e := replace(cond); ok && e != cond && closed(e) {
			if d, err := e.Eval(f.env); err == nil && !d.True() {
				out &^= kind.kind
			}
		}
	}
	return out
}

// Sample returns a value, or its text, as a constant; "" stands for a missing one.
func Sample(json string, text bool) exec.Expr {
	switch {
	case !text && json == "":
		return exec.NullOf(types.JSONB)
	case !text:
		return &exec.Const{D: types.NewJSONText(json), Typ: types.JSONB}
	}
	if json != "" {
		if s, ok := types.JSONBText(json); ok {
			return &exec.Const{D: types.NewText(s), Typ: types.Text}
		}
	}
	return exec.NullOf(types.Text)
}

// closed reports whether an expression has the same value for every row, and can be evaluated now.
func closed(e exec.Expr) bool {
	ok := true
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Col, *exec.Subquery, *exec.It, *exec.Param:
			ok = false
		case *exec.Call:
			ok = ok && n.Func.Volatility != exec.Volatile
		}
	})
	return ok
}

// exactValues returns the only values of a member for which a condition is true, if it lists them: scalars that the
// member, or its text, is equal to.
func exactValues(cond exec.Expr, at ranges.Locator) (values []string, ok bool) {
	list := func(x exec.Expr, items []types.Datum) ([]string, bool) {
		f, ok := at.FormOf(x)
		if !ok || f.Mod != 0 || f.Kind != ranges.AsJSON && f.Kind != ranges.AsText {
			return nil, false
		}
		values := []string{}
		for _, d := range items {
			switch {
			case d.IsNull():
			case strings.Contains(d.S, ranges.Replacement) || strings.Contains(d.S, `\u`):
				return nil, false // it may stand for other characters
			case f.Kind == ranges.AsJSON && d.K == types.KJSON:
				if k := types.JSONKindOf(d.S); k == types.JSONList || k == types.JSONObject {
					return nil, false
				}
				values = append(values, strings.TrimSpace(d.S))
			case f.Kind == ranges.AsText && d.K == types.KText:
				values = append(values, ranges.Text(d.S).S)
				if v, err := types.ParseJSON(d.S); err == nil {
					switch types.JSONKindOf(v.S) {
					case types.JSONNumber, types.JSONBool:
						values = append(values, v.S)
					case types.JSONList, types.JSONObject:
						return nil, false
					}
				}
			default:
				return nil, false
			}
		}
		return values, true
	}
	switch n := cond.(type) {
	case *exec.Call:
		if n.Op != "=" || len(n.Args) != 2 || n.Func.Collation != nil {
			break
		}
		x, y := n.Args[0], n.Args[1]
		if _, is := x.(*exec.Const); is {
			x, y = y, x
		}
		if c, is := y.(*exec.Const); is {
			return list(x, []types.Datum{c.D})
		}
	case *exec.In:
		if n.Not {
			break
		}
		var items []types.Datum
		for _, e := range n.List {
			c, is := e.(*exec.Const)
			if !is {
				return nil, false
			}
			items = append(items, c.D)
		}
		return list(n.X, items)
	case *exec.Any:
		if c, is := n.Array.(*exec.Const); is && !n.All && n.Symbol == "=" && !c.D.IsNull() {
			return list(n.X, c.D.Array().Items)
		}
	case *exec.Logic:
		found := false
		for _, a := range n.Args {
			some, is := exactValues(a, at)
			switch {
			case n.Op == "or" && !is, n.Op == "not":
				return nil, false
			case is && n.Op == "or":
				values, found = append(values, some...), true
			case is:
				values, found = intersection(values, some), true
			}
		}
		return values, found
	}
	return nil, false
}

// intersection returns the values of both lists. A nil list is all values.
func intersection(a, b []string) []string {
	if a == nil {
		return b
	}
	out := []string{}
	for _, v := range a {
		if slices.ContainsFunc(b, func(w string) bool {
			same, err := types.Equal(types.NewJSONText(v), types.NewJSONText(w), nil)
			return err != nil || same
		}) {
			out = append(out, v)
		}
	}
	return out
}

package selector

import (
	"bytes"
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/collate"
)

// operand is a value that others are compared with.
type operand struct {
	json   []byte
	kind   gjson.Type
	text   string // of a string
	number float64
	exact  bool // of a number, see exact
}

func operandOf(v gjson.Result) operand {
	return operand{[]byte(v.Raw), v.Type, v.Str, v.Num, exact(v)}
}

// compare compares a value with the operand as views do. Values that cannot be compared (numbers beyond all limits) are
// neither less nor equal. raw compares strings byte by byte; other values are then less than strings, as in Erlang.
func (o *operand) compare(v gjson.Result, raw bool) int {
	switch {
	case !raw || v.Type != gjson.String:
	case o.kind != gjson.String:
		return 1
	default:
		return strings.Compare(v.Str, o.text)
	}
	if v.Type == gjson.String && o.kind == gjson.String && v.Raw == string(o.json) {
		return 0
	}
	if o.exact && exact(v) {
		return cmp.Compare(v.Num, o.number)
	}
	c, err := collate.Compare([]byte(v.Raw), o.json)
	if err != nil {
		return 1
	}
	return c
}

// exact reports whether v is a number whose value as a float64 compares with others like the number itself: different
// decimals of at most 15 digits are different float64s, in the same order.
func exact(v gjson.Result) bool {
	return v.Type == gjson.Number && len(v.Raw) <= 15 && !strings.ContainsAny(v.Raw, "eE")
}

// not negates a condition that has no opposite of its own.
type not struct{ cond condition }

func (n not) holds(v gjson.Result, raw bool) bool { return !n.cond.holds(v, raw) }

// exists is $exists. exists(true) requires a value, which it is given; field handles a missing one.
type exists bool

func (e exists) holds(gjson.Result, bool) bool { return bool(e) }

// comparison is $lt, $lte, $eq, $ne, $gte, $gt.
type comparison struct {
	operator string
	arg      operand
}

func (c comparison) holds(v gjson.Result, raw bool) bool {
	order := c.arg.compare(v, raw)
	switch c.operator {
	case "$lt":
		return order < 0
	case "$lte":
		return order <= 0
	case "$eq":
		return order == 0
	case "$ne":
		return order != 0
	case "$gte":
		return order >= 0
	}
	return order > 0
}

// oneOf is $in: the value, or an element of it if it is an array, is in the list. $nin is its negation. An empty list
// contains nothing.
type oneOf []operand

func (list oneOf) holds(v gjson.Result, raw bool) bool {
	if !v.IsArray() {
		return list.has(v, raw)
	}
	found := false
	v.ForEach(func(_, element gjson.Result) bool {
		found = list.has(element, raw)
		return !found
	})
	return found
}

func (list oneOf) has(v gjson.Result, raw bool) bool {
	for i := range list {
		if list[i].compare(v, raw) == 0 {
			return true
		}
	}
	return false
}

// allOf is $all: every value of the list is an element of the array, or the list's only value is that array. An empty
// list matches nothing.
type allOf []operand

func (list allOf) holds(v gjson.Result, _ bool) bool {
	if !v.IsArray() || len(list) == 0 {
		return false
	}
	if len(list) == 1 && bytes.HasPrefix(list[0].json, []byte("[")) && list[0].compare(v, false) == 0 {
		return true
	}
	for i := range list {
		found := false
		v.ForEach(func(_, element gjson.Result) bool {
			found = list[i].compare(element, false) == 0
			return !found
		})
		if !found {
			return false
		}
	}
	return true
}

func membership(operator string, arg gjson.Result) condition {
	var list []operand
	arg.ForEach(func(_, v gjson.Result) bool {
		list = append(list, operandOf(v))
		return true
	})
	switch operator {
	case "$in":
		return oneOf(list)
	case "$nin":
		return not{oneOf(list)}
	}
	return allOf(list)
}

// elements is $elemMatch (one element matches the selector), $allMatch (all elements match, and there is at least one)
// and $keyMapMatch (one key of an object matches).
type elements struct {
	operator string
	selector node
}

func (e elements) holds(v gjson.Result, _ bool) bool {
	if e.operator == "$keyMapMatch" {
		return v.IsObject() && e.one(v, func(key, _ gjson.Result) gjson.Result { return key })
	}
	if !v.IsArray() {
		return false
	}
	if e.operator == "$elemMatch" {
		return e.one(v, func(_, value gjson.Result) gjson.Result { return value })
	}
	all, some := true, false
	v.ForEach(func(_, value gjson.Result) bool {
		some, all = true, e.selector.match(value)
		return all
	})
	return some && all
}

func (e elements) one(v gjson.Result, pick func(key, value gjson.Result) gjson.Result) (found bool) {
	v.ForEach(func(key, value gjson.Result) bool {
		found = e.selector.match(pick(key, value))
		return !found
	})
	return found
}

// ofType is $type: null, boolean, number, string, array or object.
type ofType string

func (t ofType) holds(v gjson.Result, _ bool) bool {
	switch {
	case v.IsObject():
		return t == "object"
	case v.IsArray():
		return t == "array"
	}
	switch v.Type {
	case gjson.Null:
		return t == "null"
	case gjson.True, gjson.False:
		return t == "boolean"
	case gjson.Number:
		return t == "number"
	}
	return t == "string"
}

// prefix is $beginsWith.
type prefix string

func (p prefix) holds(v gjson.Result, _ bool) bool {
	return v.Type == gjson.String && strings.HasPrefix(v.Str, string(p))
}

// size is $size of arrays.
type size int64

func (n size) holds(v gjson.Result, _ bool) bool {
	if !v.IsArray() {
		return false
	}
	left := int64(n)
	v.ForEach(func(_, _ gjson.Result) bool {
		left--
		return left >= 0
	})
	return left == 0
}

// modulo is $mod of integers.
type modulo struct{ divisor, remainder int64 }

func (m modulo) holds(v gjson.Result, _ bool) bool {
	n, ok := integer(v)
	return ok && n%m.divisor == m.remainder
}

// integer reads a number without a fraction or an exponent. 1.0 is not an integer, as in CouchDB.
func integer(v gjson.Result) (int64, bool) {
	if v.Type != gjson.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	return n, err == nil
}

// expression is $regex. It matches anywhere in a string.
type expression struct{ *regexp.Regexp }

func (e expression) holds(v gjson.Result, _ bool) bool {
	return v.Type == gjson.String && e.MatchString(v.Str)
}

package selector

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/collate"
)

// compare compares two JSON values as views do. Values that cannot be compared (numbers beyond all limits) are neither
// less nor equal.
func compare(a, b []byte) int {
	c, err := collate.Compare(a, b)
	if err != nil {
		return 1
	}
	return c
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
	arg      []byte
}

func (c comparison) holds(v gjson.Result, raw bool) bool {
	order := 0
	if raw && v.Type == gjson.String && len(c.arg) > 0 && c.arg[0] == '"' {
		order = strings.Compare(v.Str, gjson.ParseBytes(c.arg).Str)
	} else {
		order = compare([]byte(v.Raw), c.arg)
	}
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
type oneOf [][]byte

func (list oneOf) holds(v gjson.Result, _ bool) bool {
	if !v.IsArray() {
		return list.has(v)
	}
	found := false
	v.ForEach(func(_, element gjson.Result) bool {
		found = list.has(element)
		return !found
	})
	return found
}

func (list oneOf) has(v gjson.Result) bool {
	for _, one := range list {
		if compare([]byte(v.Raw), one) == 0 {
			return true
		}
	}
	return false
}

// allOf is $all: every value of the list is an element of the array, or the list's only value is that array. An empty
// list matches nothing.
type allOf [][]byte

func (list allOf) holds(v gjson.Result, _ bool) bool {
	if !v.IsArray() || len(list) == 0 {
		return false
	}
	if len(list) == 1 && bytes.HasPrefix(list[0], []byte("[")) && compare([]byte(v.Raw), list[0]) == 0 {
		return true
	}
	for _, one := range list {
		found := false
		v.ForEach(func(_, element gjson.Result) bool {
			found = compare([]byte(element.Raw), one) == 0
			return !found
		})
		if !found {
			return false
		}
	}
	return true
}

func membership(operator string, arg gjson.Result) condition {
	var list [][]byte
	arg.ForEach(func(_, v gjson.Result) bool {
		list = append(list, []byte(v.Raw))
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

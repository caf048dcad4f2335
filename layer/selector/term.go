package selector

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Term is a part of a normalized selector: a combination of terms, a field with a condition on it, or an operator on a
// value. Normalizing joins the names of nested fields with dots, makes equality and `$and` explicit, and moves
// negations down to the operators: not greater becomes less or equal, so that a negated condition still requires its
// field to exist. Below $elemMatch, $allMatch and $keyMapMatch negations stay where they are, as in CouchDB. Immutable.
type Term struct {
	// Op is the operator, or empty for a field.
	Op string
	// Field is a field's name as it was written, and Path the names that it consists of. Both are empty for the value
	// itself, below $elemMatch and the like.
	Field string
	Path  []string
	// Arg is the operand of an operator on a value.
	Arg gjson.Result
	// Terms are the operands of $and and $or, or the only one of $not, $elemMatch, $allMatch, $keyMapMatch and of a
	// field.
	Terms []*Term
}

// normalizer turns a selector into terms.
type normalizer struct {
	c *compiler
	// inside reports that the terms are below $elemMatch, $allMatch or $keyMapMatch.
	inside bool
}

// place is the field under which a part of a selector stands.
type place struct {
	field string
	path  []string
}

// selector normalizes a selector, or a condition on a field.
func (n *normalizer) selector(v gjson.Result, at place, negated bool) (*Term, error) {
	if !v.IsObject() {
		return n.operation("$eq", v, at, negated)
	}
	members := membersOf(v)
	switch len(members) {
	case 0:
		return n.operation("$eq", v, at, negated)
	case 1:
		return n.member(members[0], at, negated)
	}
	list := make([]*Term, len(members))
	for i, m := range members {
		var err error
		if list[i], err = n.member(m, at, negated); err != nil {
			return nil, err
		}
	}
	return combined(list, !negated), nil
}

// combined joins terms with and (all) or with or. The caller has applied De Morgan's laws.
func combined(list []*Term, all bool) *Term {
	if all {
		return &Term{Op: "$and", Terms: list}
	}
	return &Term{Op: "$or", Terms: list}
}

func (n *normalizer) member(m pair, at place, negated bool) (*Term, error) {
	if !strings.HasPrefix(m.name, "$") {
		below, err := n.below(at, m.name)
		if err != nil {
			return nil, err
		}
		return n.selector(m.value, below, negated)
	}
	switch m.name {
	case "$and":
		return n.list(m, at, negated, !negated)
	case "$or":
		return n.list(m, at, negated, negated)
	case "$nor":
		if !n.inside {
			return n.list(m, at, !negated, !negated)
		}
		any, err := n.list(m, at, false, false)
		return &Term{Op: "$not", Terms: []*Term{any}}, err
	case "$not":
		if !m.value.IsObject() {
			return nil, badArgument(m.name, m.value)
		}
		if !n.inside {
			return n.selector(m.value, at, !negated)
		}
		term, err := n.selector(m.value, at, false)
		return &Term{Op: "$not", Terms: []*Term{term}}, err
	}
	return n.operation(m.name, m.value, at, negated)
}

// below returns the place of a member of the object at a place.
func (n *normalizer) below(at place, name string) (place, error) {
	if name == "" && at.field == "" {
		return at, nil
	}
	path, err := parsePath(name)
	if err != nil {
		return at, err
	}
	field := name
	if at.field != "" {
		field = at.field + "." + name
	}
	err = n.c.take(16*(len(at.path)+len(path)) + len(field))
	return place{field, append(at.path[:len(at.path):len(at.path)], path...)}, err
}

func (n *normalizer) list(m pair, at place, negated, all bool) (*Term, error) {
	if !m.value.IsArray() {
		return nil, badArgument(m.name, m.value)
	}
	var list []*Term
	var err error
	m.value.ForEach(func(_, v gjson.Result) bool {
		var t *Term
		t, err = n.selector(v, at, negated)
		list = append(list, t)
		return err == nil
	})
	return combined(list, all), err
}

var opposites = map[string]string{
	"$lt": "$gte", "$lte": "$gt", "$gt": "$lte", "$gte": "$lt", "$eq": "$ne", "$ne": "$eq", "$in": "$nin",
	"$nin": "$in",
}

// operation returns the term of an operator on the value at a place.
func (n *normalizer) operation(operator string, arg gjson.Result, at place, negated bool) (*Term, error) {
	term := &Term{Op: operator, Arg: arg}
	switch operator {
	case "$elemMatch", "$allMatch", "$keyMapMatch":
		if !arg.IsObject() {
			return nil, badArgument(operator, arg)
		}
		inner := normalizer{n.c, true}
		below, err := inner.selector(arg, place{}, false)
		if err != nil {
			return nil, err
		}
		term.Arg, term.Terms = gjson.Result{}, []*Term{below}
	case "$exists":
		if arg.IsBool() && negated {
			negated = false
			term.Arg = gjson.Parse([]string{"true", "false"}[boolIndex(arg.Bool())])
		}
	}
	if opposite, ok := opposites[operator]; ok && negated {
		term.Op, negated = opposite, false
	}
	if negated {
		term = &Term{Op: "$not", Terms: []*Term{term}}
	}
	return &Term{Field: at.field, Path: at.path, Terms: []*Term{term}}, nil
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Append appends the term as CouchDB's _explain shows it.
func (t *Term) Append(dst []byte) []byte {
	dst = append(dst, '{')
	switch {
	case t == nil:
		return append(dst, '}')
	case t.Op == "":
		dst = append(jsontext.AppendQuoted(dst, t.Field), ':')
		dst = t.Terms[0].Append(dst)
	case t.Op == "$and" || t.Op == "$or":
		dst = append(jsontext.AppendQuoted(dst, t.Op), ':', '[')
		for i, one := range t.Terms {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = one.Append(dst)
		}
		dst = append(dst, ']')
	case len(t.Terms) > 0:
		dst = append(jsontext.AppendQuoted(dst, t.Op), ':')
		dst = t.Terms[0].Append(dst)
	default:
		dst = append(jsontext.AppendQuoted(dst, t.Op), ':')
		dst = append(dst, t.Arg.Raw...)
	}
	return append(dst, '}')
}

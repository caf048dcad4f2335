package selector

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/tidwall/gjson"
)

// compiler counts the memory of a tree that is not proportional to its text: paths are copied to all conditions below
// them, and a short regular expression may compile to a large program.
type compiler struct{ used, most int }

const (
	// A selector may take extra bytes of such memory, plus extraPerByte for each byte of its text.
	extraPerByte = 8
	extra        = 1 << 20
	// instruction is the approximate size of one instruction of a regular expression.
	instruction = 100
)

var errLarge = &Error{"invalid_selector", "The selector takes too much memory: its paths are too long for so many " +
	"conditions below them, or its regular expressions repeat too much."}

// take counts n more bytes.
func (c *compiler) take(n int) error {
	if c.used += n; c.used > c.most {
		return errLarge
	}
	return nil
}

// expression compiles a regular expression.
func (c *compiler) expression(text string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if err := c.take(instruction * len(program.Inst)); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// compile turns a selector, or a condition under a path, into a tree. Paths and negations are pushed down to the
// operators: not greater becomes less or equal, so that a negated condition still requires its field to exist.
func (c *compiler) compile(v gjson.Result, path []string, negated bool) (node, error) {
	if !v.IsObject() {
		return c.terminal("$eq", v, path, negated)
	}
	members := membersOf(v)
	switch len(members) {
	case 0:
		return c.terminal("$eq", v, path, negated)
	case 1:
		return c.compileMember(members[0], path, negated)
	}
	list := make([]node, len(members))
	for i, m := range members {
		var err error
		if list[i], err = c.compileMember(m, path, negated); err != nil {
			return nil, err
		}
	}
	return combine(list, !negated), nil
}

// combine joins conditions with and (all) or with or. The caller has applied De Morgan's laws.
func combine(list []node, all bool) node {
	if all {
		return every(list)
	}
	return some(list)
}

func (c *compiler) compileMember(m pair, path []string, negated bool) (node, error) {
	if !strings.HasPrefix(m.name, "$") {
		more, err := parsePath(m.name)
		if err != nil {
			return nil, err
		}
		if err := c.take(16 * (len(path) + len(more))); err != nil {
			return nil, err
		}
		return c.compile(m.value, append(path[:len(path):len(path)], more...), negated)
	}
	switch m.name {
	case "$and":
		return c.compileList(m, path, negated, !negated)
	case "$or":
		return c.compileList(m, path, negated, negated)
	case "$nor":
		return c.compileList(m, path, !negated, !negated)
	case "$not":
		if !m.value.IsObject() {
			return nil, badArgument(m.name, m.value)
		}
		return c.compile(m.value, path, !negated)
	}
	return c.terminal(m.name, m.value, path, negated)
}

func (c *compiler) compileList(m pair, path []string, negated, all bool) (node, error) {
	if !m.value.IsArray() {
		return nil, badArgument(m.name, m.value)
	}
	var list []node
	var err error
	m.value.ForEach(func(_, v gjson.Result) bool {
		var n node
		n, err = c.compile(v, path, negated)
		list = append(list, n)
		return err == nil
	})
	return combine(list, all), err
}

// terminal compiles an operator on the value at path.
func (c *compiler) terminal(operator string, arg gjson.Result, path []string, negated bool) (node, error) {
	if negated {
		if opposite, ok := opposites[operator]; ok {
			operator, negated = opposite, false
		}
	}
	cond, err := c.operation(operator, arg, negated)
	if err != nil {
		return nil, err
	}
	if operator != "$exists" && negated {
		cond = not{cond}
	}
	return &field{path: path, cond: cond}, nil
}

var opposites = map[string]string{
	"$lt": "$gte", "$lte": "$gt", "$gt": "$lte", "$gte": "$lt", "$eq": "$ne", "$ne": "$eq", "$in": "$nin",
	"$nin": "$in",
}

// operation returns the condition of an operator.
func (c *compiler) operation(operator string, arg gjson.Result, negated bool) (condition, error) {
	switch operator {
	case "$lt", "$lte", "$eq", "$ne", "$gte", "$gt":
		return comparison{operator, []byte(arg.Raw)}, nil
	case "$exists":
		if arg.IsBool() {
			return exists(arg.Bool() != negated), nil
		}
	case "$in", "$nin", "$all":
		if arg.IsArray() {
			return membership(operator, arg), nil
		}
	case "$elemMatch", "$allMatch", "$keyMapMatch":
		if arg.IsObject() {
			sub, err := c.compile(arg, nil, false)
			return elements{operator, sub}, err
		}
	case "$type", "$beginsWith":
		if arg.Type == gjson.String {
			if operator == "$type" {
				return ofType(arg.Str), nil
			}
			return prefix(arg.Str), nil
		}
	case "$size":
		if n, ok := integer(arg); ok && n >= 0 {
			return size(n), nil
		}
	case "$mod":
		if list := arg.Array(); arg.IsArray() && len(list) == 2 {
			divisor, ok1 := integer(list[0])
			remainder, ok2 := integer(list[1])
			if ok1 && ok2 && divisor != 0 {
				return modulo{divisor, remainder}, nil
			}
		}
	case "$regex":
		if arg.Type == gjson.String {
			re, err := c.expression(arg.Str)
			if err == nil {
				return expression{re}, nil
			}
			if errors.Is(err, errLarge) {
				return nil, err
			}
		}
	case "$text", "$where", "$geoWithin", "$geoIntersects", "$near", "$nearSphere":
		return nil, &Error{"not_supported", "Unsupported operator: " + operator}
	default:
		return nil, &Error{"invalid_operator", "Invalid operator: " + operator}
	}
	return nil, badArgument(operator, arg)
}

func badArgument(operator string, arg gjson.Result) *Error {
	return &Error{"bad_arg", fmt.Sprintf("Bad argument for operator %s: %s", operator, arg.Raw)}
}

// parsePath splits a field name at its dots. A backslash escapes a dot or any other character.
func parsePath(name string) ([]string, error) {
	var path []string
	var part strings.Builder
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			if name[i] == '\\' && i+1 < len(name) {
				i++
			}
			part.WriteByte(name[i])
			continue
		}
		if part.Len() == 0 {
			return nil, &Error{"invalid_field_name", "Invalid field name: " + name}
		}
		path = append(path, part.String())
		part.Reset()
	}
	return path, nil
}

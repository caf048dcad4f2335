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

// compile turns a term into a tree that matches documents.
func (c *compiler) compile(t *Term) (node, error) {
	switch t.Op {
	case "$and", "$or":
		list := make([]node, len(t.Terms))
		for i, one := range t.Terms {
			var err error
			if list[i], err = c.compile(one); err != nil {
				return nil, err
			}
		}
		if t.Op == "$and" {
			return every(list), nil
		}
		return some(list), nil
	case "$not":
		inner, err := c.compile(t.Terms[0])
		return without{inner}, err
	}
	cond, err := c.condition(t.Terms[0])
	return &field{path: t.Path, cond: cond}, err
}

// condition compiles the condition on a field.
func (c *compiler) condition(t *Term) (condition, error) {
	switch t.Op {
	case "$not":
		cond, err := c.condition(t.Terms[0])
		return not{cond}, err
	case "$elemMatch", "$allMatch", "$keyMapMatch":
		sub, err := c.compile(t.Terms[0])
		return elements{t.Op, sub}, err
	}
	return c.operation(t.Op, t.Arg)
}

// operation returns the condition of an operator.
func (c *compiler) operation(operator string, arg gjson.Result) (condition, error) {
	switch operator {
	case "$lt", "$lte", "$eq", "$ne", "$gte", "$gt":
		return comparison{operator, operandOf(arg)}, nil
	case "$exists":
		if arg.IsBool() {
			return exists(arg.Bool()), nil
		}
	case "$in", "$nin", "$all":
		if arg.IsArray() {
			return membership(operator, arg), nil
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
		return nil, invalidOperator(operator)
	}
	if operator == "$regex" && arg.Type != gjson.String || operator == "$beginsWith" {
		return nil, invalidOperator(operator) // CouchDB knows these only with a string
	}
	return nil, badArgument(operator, arg)
}

func invalidOperator(operator string) *Error {
	return &Error{"invalid_operator", "Invalid operator: " + operator}
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

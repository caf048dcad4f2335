package direct

import (
	"slices"
	"strings"

	"github.com/divandb/divan/layer/rowshape"
)

// Shape describes the rows of function i. It returns nil if the function is not direct, can emit more than one row for
// a document, or a key that does not consist of members of the document and constants.
func (d *Functions) Shape(i int) *rowshape.Shape {
	f := d.functions[i]
	if f == nil {
		return nil
	}
	s := shaper{d: d, s: rowshape.Shape{AsJavaScript: true}}
	if s.block(f.body); s.refused || !s.found {
		return nil
	}
	s.s.Cond = conjunction(s.emitted)
	return &s.s
}

// shaper finds the only emit of a function and the conditions under which it is reached.
type shaper struct {
	d *Functions
	s rowshape.Shape
	// conds hold where the current statement is reached. found is set once there was an emit.
	conds          []rowshape.Expr
	found, refused bool
	emitted        []rowshape.Expr // the conditions of the emit
}

func conjunction(conds []rowshape.Expr) *rowshape.Expr {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return &conds[0]
	}
	return &rowshape.Expr{Op: rowshape.And, Args: conds}
}

// block walks statements. It returns whether the end of the block is never reached.
func (s *shaper) block(body []node) (ended bool) {
	for i := range body {
		n := &body[i]
		switch n.kind {
		case nodeEmit:
			s.emit(n)
		case nodeReturn:
			s.block(n.body)
			return true
		default: // nodeIf
			if s.branches(n) {
				return true
			}
		}
	}
	return false
}

func (s *shaper) branches(n *node) (ended bool) {
	before := s.conds
	cond := s.expr(&n.kids[0])
	negated := rowshape.Expr{Op: rowshape.Not, Args: []rowshape.Expr{cond}}
	s.conds = append(before[:len(before):len(before)], cond)
	then := s.returns(n.body)
	s.conds = append(before[:len(before):len(before)], negated)
	otherwise := s.returns(n.otherwise)
	s.conds = before
	switch {
	case then && otherwise:
		return true
	case then:
		s.conds = append(before[:len(before):len(before)], negated)
	case otherwise:
		s.conds = append(before[:len(before):len(before)], cond)
	}
	return false
}

// returns walks a branch. It refuses one that may end the function or not.
func (s *shaper) returns(body []node) bool {
	before := len(s.conds)
	ended := s.block(body)
	if !ended && len(s.conds) != before {
		s.refused = true // statements after this one are reached in several ways
	}
	return ended
}

// emit records the key and the conditions of an emit.
func (s *shaper) emit(n *node) {
	if s.found || len(n.kids) == 0 {
		s.refused = true
		return
	}
	s.found, s.emitted = true, slices.Clone(s.conds) // later conditions do not matter
	key := &n.kids[0]
	parts := []node{*key}
	if key.kind == nodeArray {
		parts, s.s.Array = key.kids, true
	}
	for i := range parts {
		v, ok := s.value(&parts[i])
		if !ok {
			s.refused = true
			return
		}
		s.s.Key = append(s.s.Key, v)
	}
	if len(n.kids) > 1 {
		s.s.Value, _ = s.value(&n.kids[1])
	} else {
		s.s.Value.JSON = "null"
	}
}

// value returns a member or a constant as a part of a row.
func (s *shaper) value(n *node) (v rowshape.Value, ok bool) {
	switch e := s.expr(n); e.Op {
	case rowshape.Member:
		return rowshape.Value{Path: e.Path}, true
	case rowshape.Constant:
		return rowshape.Value{JSON: e.JSON}, true
	case rowshape.Undefined:
		return rowshape.Value{JSON: "null"}, true
	default:
		return v, false
	}
}

var operators = map[nodeKind]rowshape.Op{nodeNot: rowshape.Not, nodeAnd: rowshape.And, nodeOr: rowshape.Or,
	nodeSame: rowshape.Same, nodeEqual: rowshape.Equal, nodeType: rowshape.TypeOf, nodeIsArray: rowshape.IsArray}

// expr converts an expression.
func (s *shaper) expr(n *node) rowshape.Expr {
	switch n.kind {
	case nodeLiteral:
		if n.value.kind == plainUndefined {
			return rowshape.Expr{Op: rowshape.Undefined}
		}
		return rowshape.Expr{Op: rowshape.Constant, JSON: string(n.value.json)}
	case nodePath, nodeHas:
		path := append([]string{s.d.names[n.name]}, n.path...)
		if !ownMembers(path) {
			return rowshape.Expr{Op: rowshape.Unknown}
		}
		return rowshape.Expr{Op: map[nodeKind]rowshape.Op{nodePath: rowshape.Member, nodeHas: rowshape.Has}[n.kind],
			Path: path}
	case nodeDocument, nodeArray, nodeObject:
		return rowshape.Expr{Op: rowshape.Composite}
	}
	e := rowshape.Expr{Op: operators[n.kind]}
	for i := range n.kids {
		e.Args = append(e.Args, s.expr(&n.kids[i]))
	}
	return e
}

// ownMembers reports whether only objects of the document can have the members of a path, and the document itself
// shows them to a function as to everyone else.
func ownMembers(path []string) bool {
	if first := path[0]; strings.HasPrefix(first, "_") && first != "_id" && first != "_rev" {
		return false
	}
	for i, name := range path {
		if name == "" || strings.Trim(name, "0123456789-") == "" || i > 0 && slices.Contains(prototypeMembers, name) {
			return false
		}
	}
	return true
}

// prototypeMembers are the members that strings, numbers, booleans and arrays have in JavaScript, beside those that
// every object inherits.
var prototypeMembers = strings.Fields(`anchor at big blink bold charAt charCodeAt codePointAt concat copyWithin endsWith
	entries every fill filter find findIndex findLast findLastIndex fixed flat flatMap fontcolor fontsize forEach
	includes indexOf isWellFormed italics join keys lastIndexOf length link localeCompare map match matchAll normalize
	padEnd padStart pop push reduce reduceRight repeat replace replaceAll reverse search shift slice small some sort
	splice split startsWith strike sub substr substring sup toExponential toFixed toLocaleLowerCase toLocaleUpperCase
	toLowerCase toPrecision toReversed toSorted toSpliced toUpperCase toWellFormed trim trimEnd trimLeft trimRight
	trimStart unshift values with`)

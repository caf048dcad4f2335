// Package jsonpath defines the tree of an SQL/JSON path expression, its parser and its text form, as in PostgreSQL 15
// (section 9.16.2). Package run evaluates it.
package jsonpath

// Path is a parsed path. It is immutable.
type Path struct {
	Strict bool
	Expr   *Node
}

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	Variable
	Root    // $
	Current // @
	Last
	And
	Or
	Not
	IsUnknown
	Compare
	StartsWith
	LikeRegex
	Exists
	Arithmetic
	Unary
	Key      // .name
	AnyKey   // .*
	Any      // .**
	AnyItem  // [*]
	Index    // [subscripts]
	Filter   // ?(predicate)
	Method   // .name()
	Datetime // .datetime(template)
)

// Unbounded is the last level of .**{n to last}.
const Unbounded = -1

// Node is a part of a path: an operation, and the accessor applied to its result.
type Node struct {
	Kind Kind
	// Text is the text of a constant, a name, an operator, a pattern or a template.
	Text string
	Left *Node // first operand, or the operand of a predicate or filter
	// Right is the second operand.
	Right *Node
	// Flags are the flags of like_regex.
	Flags string
	// From and To are the levels of Any.
	From, To int
	// Subscripts are the subscripts of Index.
	Subscripts []Subscript
	// Next is the accessor that follows this node.
	Next *Node
}

// Subscript is an index, or a range if To is set.
type Subscript struct{ From, To *Node }

// predicate reports whether a node is a condition.
func (n *Node) predicate() bool {
	switch n.Kind {
	case And, Or, Not, IsUnknown, Compare, StartsWith, LikeRegex, Exists:
		return n.Next == nil
	}
	return false
}

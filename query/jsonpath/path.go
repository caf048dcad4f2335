// Package jsonpath has the tree of an SQL/JSON path expression, its parser and its text, as PostgreSQL 15 has them
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

// Unbounded is the level of .**{n to last}.
const Unbounded = -1

// Node is a part of a path: what it does, and what is applied to its result.
type Node struct {
	Kind Kind
	// Text is a constant's text, a name, an operator, a pattern or a template.
	Text string
	Left *Node // first operand, or that of a predicate or filter
	// Right is the second operand.
	Right *Node
	// Flags are those of like_regex.
	Flags string
	// From and To are the levels of Any.
	From, To int
	// Subscripts are those of Index.
	Subscripts []Subscript
	// Next is the accessor behind this node.
	Next *Node
}

// Subscript is an index, or a range where To is set.
type Subscript struct{ From, To *Node }

// predicate says that a node is a condition.
func (n *Node) predicate() bool {
	switch n.Kind {
	case And, Or, Not, IsUnknown, Compare, StartsWith, LikeRegex, Exists:
		return n.Next == nil
	}
	return false
}

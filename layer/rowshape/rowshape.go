// Package rowshape describes views whose rows follow plainly from documents: a document has one row or none, and its
// key consists of members of the document. It is what a map function in a small part of JavaScript and the definition
// of a Mango index have in common, for those who look for a view that answers a query.
package rowshape

import "slices"

// Shape says which documents have a row in a view, and with which key. It is immutable. It holds for documents that the
// view's function has not failed for; the failures of an index are counted.
type Shape struct {
	// Key are the parts of an array key, or the whole key if Array is not set.
	Key   []Value
	Array bool
	// Value is the row's value; its kind is Other for anything that is not described.
	Value Value
	// Cond is the condition for a row; nil if every document has one.
	Cond *Expr
	// AsJavaScript reports that the row has values as JavaScript writes them: a number is the nearest double or, beyond
	// all doubles, null, and a missing member is null. Otherwise it has the texts of the document, all of which exist.
	AsJavaScript bool
}

// Value is a part of a row.
type Value struct {
	// Path are the names of a member of the document, if it is one. No value but an object has members of these names.
	Path []string
	// JSON is the text of a constant otherwise; empty for anything else.
	JSON string
}

// Part returns the number of the part of the key that is a member of the document, or -1.
func (s *Shape) Part(path []string) int {
	return slices.IndexFunc(s.Key, func(v Value) bool { return v.Path != nil && slices.Equal(v.Path, path) })
}

// Constant returns the JSON text of the constant that a member is in all documents with a row, because the condition
// compares them by ===; "" if it says nothing.
func (s *Shape) Constant(path []string) string { return s.Cond.constant(path) }

func (e *Expr) constant(path []string) string {
	switch {
	case e == nil:
	case e.Op == And:
		for i := range e.Args {
			if json := e.Args[i].constant(path); json != "" {
				return json
			}
		}
	case e.Op == Same:
		for i, a := range e.Args {
			if b := e.Args[1-i]; a.Op == Member && slices.Equal(a.Path, path) && b.Op == Constant {
				return b.JSON
			}
		}
	}
	return ""
}

// Op is the operator of an Expr.
type Op uint8

// The operators. Those of JavaScript have its meaning; those of Mango, which begin with Exists, are never true for a
// missing member and compare in the order of views.
const (
	Constant  Op = iota // JSON
	Undefined           // JavaScript's undefined
	Member              // Path
	Composite           // an array or object made of anything
	Not                 // !Args[0]
	And
	Or
	Same    // Args[0] === Args[1]
	Equal   // Args[0] == Args[1]
	TypeOf  // typeof Args[0]
	IsArray // Array.isArray(Args[0])
	Has     // whether the member Path exists

	Exists       // whether the member Path exists
	Less         // the member Path is less than JSON
	LessEqual    // or equal
	Greater      // greater
	GreaterEqual // or equal
	Matches      // equal to JSON in the order of views
	Unknown      // true or false for reasons that are not described
)

// Expr is an expression over a document.
type Expr struct {
	Op   Op
	Path []string
	JSON string
	Args []Expr
}

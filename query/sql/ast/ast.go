// Package ast has the tree of a parsed SQL statement. Package parse builds it, package bind gives it a meaning. Every
// node knows where it stands in the text, so that errors can point there. A tree is immutable once it has been parsed.
package ast

// At is the place of a node: its offset in bytes from the beginning of the statement. It is where PostgreSQL's error
// messages point for a node of this kind: at an infix operator for an operation, at the first character for most
// others.
type At int

// Pos returns the offset.
func (a At) Pos() int { return int(a) }

// Node is a part of a statement.
type Node interface{ Pos() int }

// Statement is a parsed statement: one of the types in statement.go and write.go.
type Statement interface{ statement() }

// Expr is an expression: one of the types in expr.go.
type Expr interface{ Node }

// FromItem is an item of FROM: *Table, *Derived, *FuncTable or *Join.
type FromItem interface{ Node }

// Select is a query: a SELECT, VALUES, or a set operation on two queries. Clauses that an operation on sets has not
// (targets to windows) are empty there.
type Select struct {
	At
	With      []CTE
	Recursive bool

	Distinct   bool
	DistinctOn []Expr
	Targets    []Target
	Into       *Table // SELECT INTO
	Values     [][]Expr
	From       []FromItem
	Where      Expr
	GroupBy    []Expr // *GroupingSet among them
	// GroupDistinct is GROUP BY DISTINCT.
	GroupDistinct bool
	Having        Expr
	Windows       []WindowDef

	// Op is the set operation: Union, Intersect or Except; empty for a plain query.
	Op          SetOp
	OpPos       At
	All         bool
	Left, Right *Select

	OrderBy []OrderItem
	// Limit is nil for none and for LIMIT ALL.
	Limit, Offset Expr
	WithTies      bool // FETCH FIRST ... WITH TIES
	Locks         []Lock
}

// SetOp is an operation on the rows of two queries.
type SetOp string

// The set operations. Their values are the words that messages use.
const (
	Union     SetOp = "UNION"
	Intersect SetOp = "INTERSECT"
	Except    SetOp = "EXCEPT"
)

// Target is an item of a select list. A star is a *Column or a *Field.
type Target struct {
	Expr  Expr
	Alias string // empty for none
}

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	Expr Expr
	Desc bool
	// NullsFirst is resolved: without NULLS FIRST or LAST it is Desc.
	NullsFirst bool
	// Using is the operator of ORDER BY ... USING, empty for none.
	Using string
}

// CTE is a query of a WITH list.
type CTE struct {
	At
	Name      string
	Columns   []string
	Statement Statement // *Query, or one that writes
	// Materialize is "always" for MATERIALIZED, "never" for NOT MATERIALIZED, else empty.
	Materialize string
	// Search and Cycle say that a SEARCH or CYCLE clause stands there.
	Search, Cycle bool
}

// WindowDef is an item of the WINDOW clause.
type WindowDef struct {
	Name string
	*Window
}

// Window is what stands behind OVER or in the WINDOW clause.
type Window struct {
	At
	// Name is that of OVER name; everything else is empty then.
	Name string
	// Base is the window that this one begins with: OVER (name ...).
	Base      string
	Partition []Expr
	Order     []OrderItem
	Frame     *Frame // nil for the default
}

// Frame is the frame clause of a window.
type Frame struct {
	At
	Mode       string // "range", "rows" or "groups"
	Start, End Bound
	// Exclude is "current row", "group", "ties", or empty for none.
	Exclude string
}

// Bound is an end of a frame.
type Bound struct {
	At
	Kind   BoundKind
	Offset Expr // of Preceding and Following
}

// BoundKind is the kind of a frame's end, in the order in which ends may follow each other.
type BoundKind uint8

// The kinds of bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Lock is FOR UPDATE and the like.
type Lock struct {
	At
	Strength string // "UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"
	Of       [][]string
	// Wait is "nowait", "skip locked", or empty.
	Wait string
}

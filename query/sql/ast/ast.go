// Package ast defines the tree of a parsed SQL statement. Package parse builds the tree, package bind resolves it.
// Every node records its position in the text, so that errors can point there. A tree is not changed after parsing.
package ast

// At is the position of a node: its byte offset in the statement. It is where PostgreSQL's error messages point for a
// node of this kind: at the operator of an infix operation, at the first character of most other nodes.
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

// Select is a query: a SELECT, VALUES, or a set operation on two queries. A set operation leaves the fields that it has
// no clause for (Targets to Windows) empty.
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
	GroupBy    []Expr // may contain *GroupingSet
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
	// Limit is nil without a LIMIT and for LIMIT ALL.
	Limit, Offset Expr
	WithTies      bool // FETCH FIRST ... WITH TIES
	Locks         []Lock
}

// SetOp is an operation on the rows of two queries.
type SetOp string

// The set operations. Error messages use these words.
const (
	Union     SetOp = "UNION"
	Intersect SetOp = "INTERSECT"
	Except    SetOp = "EXCEPT"
)

// Target is an item of a select list. A star is a *Column or a *Field.
type Target struct {
	Expr  Expr
	Alias string // empty if there is none
}

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	Expr Expr
	Desc bool
	// NullsFirst is always set: without NULLS FIRST or NULLS LAST it equals Desc.
	NullsFirst bool
	// Using is the operator of ORDER BY ... USING, or empty.
	Using   string
	UsingAt At
}

// CTE is a query of a WITH list.
type CTE struct {
	At
	Name      string
	Columns   []string
	Statement Statement // *Query, *Insert, *Update or *Delete
	// Materialize is "always" for MATERIALIZED, "never" for NOT MATERIALIZED, otherwise empty.
	Materialize string
	// Search and Cycle report whether the query has a SEARCH or a CYCLE clause.
	Search, Cycle bool
}

// WindowDef is an item of the WINDOW clause.
type WindowDef struct {
	Name string
	*Window
}

// Window is a window as written after OVER or in the WINDOW clause.
type Window struct {
	At
	// Name is the name in OVER name; all other fields are empty then.
	Name string
	// Base is the window that this one extends: OVER (name ...).
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
	// Exclude is "current row", "group", "ties", or empty.
	Exclude string
}

// Bound is an end of a frame.
type Bound struct {
	At
	Kind   BoundKind
	Offset Expr // of Preceding and Following
}

// BoundKind is the kind of a frame bound. The kinds are ordered: a frame's end cannot have a lower kind than its start.
type BoundKind uint8

// The kinds of bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Lock is a locking clause such as FOR UPDATE.
type Lock struct {
	At
	Strength string // "UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"
	Of       [][]string
	OfPlaces []At
	// Wait is "nowait", "skip locked", or empty.
	Wait string
}

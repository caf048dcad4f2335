package ast

// Alias is the alias of an item of FROM.
type Alias struct {
	Name    string // empty if there is none
	Columns []string
}

// Table is a name in FROM.
type Table struct {
	At
	Name []string // includes the schema and the database if they were written
	Only bool
	Alias
	// Sample is TABLESAMPLE, or nil.
	Sample *Call
}

// Derived is a query in FROM.
type Derived struct {
	At
	Query   *Select
	Lateral bool
	Alias
}

// FuncTable is a function, or ROWS FROM of several, in FROM.
type FuncTable struct {
	At
	Calls []FuncCall
	// RowsFrom reports whether it was written as ROWS FROM.
	RowsFrom   bool
	Ordinality bool
	Lateral    bool
	Alias
	// Types are the types of a column definition list; the names are in the alias.
	Types []TypeName
}

// Definitions returns the types of the column definition list of a call, nil if it has none.
func (n *FuncTable) Definitions(call FuncCall) []TypeName {
	if n.Types != nil {
		return n.Types
	}
	return call.Types
}

// FuncCall is one function of a FuncTable.
type FuncCall struct {
	Expr Expr // usually a *Call, or another expression that looks like one, such as CAST or CURRENT_DATE
	// Columns and Types are the column definition list of a function in ROWS FROM.
	Columns []string
	Types   []TypeName
}

// JoinKind is the kind of a join.
type JoinKind string

// The kinds of joins.
const (
	Inner JoinKind = "inner"
	Left  JoinKind = "left"
	Right JoinKind = "right"
	Full  JoinKind = "full"
	Cross JoinKind = "cross"
)

// Join is a join of two items.
type Join struct {
	At
	Kind        JoinKind
	Left, Right FromItem
	On          Expr
	Using       []string
	// UsingAlias is the name in USING (...) AS name.
	UsingAlias string
	Natural    bool
	// Alias is the alias of a join in parentheses.
	Alias
}

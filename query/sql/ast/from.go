package ast

// Alias is what stands behind an item of FROM.
type Alias struct {
	Name    string // empty for none
	Columns []string
}

// Table is a name in FROM.
type Table struct {
	At
	Name []string // with its schema and database where they are written
	Only bool
	Alias
	// Sample is TABLESAMPLE, nil for none.
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
	// RowsFrom says that it was written as ROWS FROM.
	RowsFrom   bool
	Ordinality bool
	Lateral    bool
	Alias
	// Types are those of a column definition list, whose names are the alias' columns.
	Types []TypeName
}

// FuncCall is one function of a FuncTable.
type FuncCall struct {
	Expr Expr // mostly a *Call, else what the grammar writes like one, as CAST or CURRENT_DATE
	// Columns and Types are a column definition list of ROWS FROM.
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
	// UsingAlias is the name of USING (...) AS name.
	UsingAlias string
	Natural    bool
	// Alias is that of a join in brackets.
	Alias
}

package ast

// Insert is INSERT.
type Insert struct {
	At
	With      []CTE
	Recursive bool
	Table     *Table
	// Columns are the targets, none for all.
	Columns []SetTarget
	// Overriding is "system", "user", or empty.
	Overriding string
	// Source is the query whose rows are written; nil for DEFAULT VALUES. Values of it may be *Default.
	Source    *Select
	Conflict  *Conflict // or nil
	Returning []Target
}

// Conflict is ON CONFLICT.
type Conflict struct {
	At
	// Columns and Where, or Constraint, are what is in conflict; both are empty for anything.
	Columns    []Expr
	Where      Expr
	Constraint string
	// Set is that of DO UPDATE; none for DO NOTHING.
	Set      []Assignment
	SetWhere Expr
}

// Update is UPDATE.
type Update struct {
	At
	With      []CTE
	Recursive bool
	Table     *Table
	Set       []Assignment
	From      []FromItem
	Where     Expr // *CurrentOf for WHERE CURRENT OF
	Returning []Target
}

// Delete is DELETE.
type Delete struct {
	At
	With      []CTE
	Recursive bool
	Table     *Table
	Using     []FromItem
	Where     Expr // *CurrentOf for WHERE CURRENT OF
	Returning []Target
}

// SetTarget is a column that is written, or a part of one.
type SetTarget struct {
	At
	Name string
	// Path are the subscripts and fields behind it: *Subscript and *Field without an X.
	Path []Expr
}

// Assignment is target = value, or (targets) = row.
type Assignment struct {
	Targets []SetTarget
	// Row says that the targets were written in brackets.
	Row   bool
	Value Expr // may be *Default
}

func (*Insert) statement() {}
func (*Update) statement() {}
func (*Delete) statement() {}

// Refused is a statement that PostgreSQL has and this gateway does not, such as CREATE TABLE. Its text is not parsed
// any further.
type Refused struct {
	At
	Verb   string // the first word, in lower case
	Object string // the word behind the verb, such as "table" or "user"
}

func (*Refused) statement() {}

// AlterPassword is ALTER USER name PASSWORD 'secret', as psql's \password sends it.
type AlterPassword struct {
	At
	User   string // empty for the session's own
	Secret string // a password, or a verifier
}

func (*AlterPassword) statement() {}

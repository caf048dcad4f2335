package ast

// Insert is INSERT.
type Insert struct {
	At
	With      []CTE
	Recursive bool
	Table     *Table
	// Columns are the target columns, empty if none were named.
	Columns []SetTarget
	// Overriding is "system", "user", or empty.
	Overriding string
	// Source is the query whose rows are written; nil for DEFAULT VALUES. Its VALUES may contain *Default.
	Source    *Select
	Conflict  *Conflict // or nil
	Returning []Target
}

// Conflict is ON CONFLICT.
type Conflict struct {
	At
	// Target is the position of the conflict target.
	Target At
	// The conflict target is either Columns and Where or Constraint. All are empty if none was named.
	Columns    []Expr
	Where      Expr
	Constraint string
	// Set is the list of DO UPDATE; empty for DO NOTHING.
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
	// Path holds the subscripts and fields after the column: *Subscript and *Field whose X is nil.
	Path []Expr
}

// Assignment is target = value, or (targets) = row.
type Assignment struct {
	Targets []SetTarget
	// Row reports whether the targets were written in parentheses.
	Row   bool
	Value Expr // may be *Default
}

func (*Insert) statement() {}
func (*Update) statement() {}
func (*Delete) statement() {}

// Refused is a statement that PostgreSQL has and Divan does not, such as CREATE TABLE. The rest of it is not parsed.
type Refused struct {
	At
	Verb   string // the first word, in lower case
	Object string // the word after the verb, such as "table" or "user"
}

func (*Refused) statement() {}

// AlterPassword is ALTER USER name PASSWORD 'secret', as psql's \password sends it.
type AlterPassword struct {
	At
	User   string // empty for the current user
	Secret string // a password or a SCRAM verifier
}

func (*AlterPassword) statement() {}

package sqlstate

// Object names what an error is about. Clients that map constraints to messages of their own, such as ORMs, read it.
type Object struct{ Schema, Table, Column, Constraint string }

// The relation that can be written, and its primary key.
const (
	writtenSchema = "public"
	writtenTable  = "docs"
	primaryKey    = "docs_pkey"
)

// Duplicate returns the error of a new document whose id exists, which detail says, such as "Key (id)=(a) already
// exists.".
func Duplicate(detail string) *Error {
	e := New(UniqueViolation, `duplicate key value violates unique constraint "%s"`, primaryKey)
	e.Detail = detail
	e.Object = Object{Schema: writtenSchema, Table: writtenTable, Constraint: primaryKey}
	return e
}

// DuplicateID is Duplicate for an id.
func DuplicateID(id string) *Error { return Duplicate("Key (id)=(" + id + ") already exists.") }

// Null returns the error of a NULL in a column of a new document.
func Null(column string) *Error {
	e := New(NotNullViolation, `null value in column "%s" of relation "%s" violates not-null constraint`, column,
		writtenTable)
	e.Object = Object{Schema: writtenSchema, Table: writtenTable, Column: column}
	return e
}

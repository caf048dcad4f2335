package state

// A statement's answer is a text of lines, each a JSON value: an SQLLine, or an array with the values of a row as texts
// or null.

// SQLLine is one of these, whose member is set.
type SQLLine struct {
	// Columns begin a result with rows. SELECT without a list has none, which is not nil.
	Columns []SQLColumn `json:"columns,omitzero"`
	// Done is the command tag at the end of a statement, such as "SELECT 3".
	Done   string    `json:"done,omitempty"`
	Notice *SQLError `json:"notice,omitempty"`
	Error  *SQLError `json:"error,omitempty"` // the last line
	// More is why the statement was ended before its end: it has more rows or bytes than were asked for. It is in the
	// last line.
	More string `json:"more,omitempty"`
}

// SQLColumn is a column of a result.
type SQLColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // as format_type returns it
}

// SQLError is an error or a notice.
type SQLError struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Detail   string `json:"detail,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Position int    `json:"position,omitempty"` // in characters, from 1
}

// Error implements error.
func (e *SQLError) Error() string { return e.Message }

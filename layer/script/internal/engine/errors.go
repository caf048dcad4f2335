package engine

import (
	"fmt"
	"strings"
)

// CompileError reports that a function's source cannot be used.
type CompileError struct {
	// Function is the name that the caller gave, such as "views.by_city.map".
	Function string
	// Message is the engine's message, for the author of the function.
	Message string
	// Line is counted from 1 in that function's source; 0 if unknown.
	Line int
}

func (e *CompileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("compilation of %s failed at line %d: %s", e.Function, e.Line, e.Message)
	}
	return fmt.Sprintf("compilation of %s failed: %s", e.Function, e.Message)
}

// RuntimeError reports that a function threw, or returned or emitted something that cannot be written as JSON.
type RuntimeError struct {
	Function string
	// Name is the class of the error ("TypeError"), or "" if the thrown value is not an Error.
	Name string
	// Message is the thrown value as text.
	Message string
	// Line is the line in the function's source, from 1; 0 if unknown.
	Line int
}

func (e *RuntimeError) Error() string {
	s := e.Message
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	if e.Line > 0 {
		return fmt.Sprintf("%s (%s line %d)", s, e.Function, e.Line)
	}
	return fmt.Sprintf("%s (%s)", s, e.Function)
}

// LimitError reports that a function was stopped at a limit.
type LimitError struct {
	Function string
	// Limit is "time", "memory", "stack" or "rows".
	Limit string
}

func (e *LimitError) Error() string {
	return e.Function + stoppedAt(e.Limit)
}

func stoppedAt(limit string) string { return ": stopped at the " + limit + " limit" }

// StoppedInTime reports whether text is the error text of a function that was stopped at the time limit.
func StoppedInTime(text string) bool { return strings.HasSuffix(text, stoppedAt("time")) }

// Unrepeatable is the Name of the error of a map or reduce function that reads the clock or draws random numbers.
const Unrepeatable = "unrepeatable"

// Rejection reports that validate_doc_update refuses a document: it threw an object with one of CouchDB's two names, or
// a list of "error", a name and a reason.
type Rejection struct {
	// Name is "forbidden", "unauthorized" or what the list has.
	Name string
	// Reason is the thrown text, or JSON if it was not a string.
	Reason string
	JSON   bool // Reason is JSON
}

func (e *Rejection) Error() string { return e.Name + ": " + e.Reason }

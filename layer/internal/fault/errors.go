package fault

import (
	"errors"
	"fmt"
)

// Kind classifies an error for the edges: HTTP maps it to a status and an error name, SQL to an SQLSTATE, each in one
// table.
type Kind int

// The kinds. The zero Kind is Internal, so that an error nobody classified is never mistaken for the client's fault.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	Conflict // a revision conflict; never the engine's conflict, which only the retry loop sees
	Exists
	TooLarge
	NotImplemented
	Timeout
	Unavailable
	Full           // the disk has no room for writes, or cannot be written
	FunctionFailed // a design document's function failed over a write, which it neither allowed nor forbade
)

// Error is a domain error. Name refines the kind where CouchDB has several names for one status ("bad_request",
// "illegal_docid", "doc_validation", "document_too_large" ...); empty means the kind's usual name. Reason is CouchDB's
// reason text.
type Error struct {
	Kind   Kind
	Name   string
	Reason string
	Err    error
}

func (e *Error) Error() string {
	s := e.Reason
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	if e.Err != nil {
		s = fmt.Sprintf("%s: %v", s, e.Err)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of the first Error in err's chain. Engine errors that reach an edge are classified too: cancelled
// and timed out are Timeout, disk failures and a store that does not answer Unavailable, a full disk Full.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return engineKind(err)
}

// Errf builds an Error of a kind with a reason.
func Errf(kind Kind, name, format string, args ...any) *Error {
	return &Error{Kind: kind, Name: name, Reason: fmt.Sprintf(format, args...)}
}

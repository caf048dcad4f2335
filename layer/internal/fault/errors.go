package fault

import (
	"errors"
	"fmt"
)

// Kind classifies an error. HTTP maps it to a status and an error name, SQL to an SQLSTATE, each in one table.
type Kind int

// The zero Kind is Internal, so that an unclassified error is never reported as the client's fault.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	Conflict // a revision conflict; the engine's conflicts are only seen by the retry loop
	Exists
	TooLarge
	NotImplemented
	Timeout
	Unavailable
	Full           // the disk is full or not writable
	FunctionFailed // a design document's function failed during a write, which it neither allowed nor forbade
)

// Error is a domain error. Name distinguishes errors of one kind for which CouchDB has several names ("bad_request",
// "illegal_docid", "doc_validation", "document_too_large" ...). If it is empty, the kind's default name applies. Reason
// is CouchDB's text, or what a validation function has thrown, which can be any JSON.
type Error struct {
	Kind   Kind
	Name   string
	Reason string
	JSON   bool // Reason is JSON
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

// KindOf returns the kind of the first Error in err's chain. It also classifies errors of the engine: cancellation and
// timeouts are Timeout, disk failures and a store that does not answer are Unavailable, and a full disk is Full.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return engineKind(err)
}

// Errf returns an Error with a formatted reason.
func Errf(kind Kind, name, format string, args ...any) *Error {
	return &Error{Kind: kind, Name: name, Reason: fmt.Sprintf(format, args...)}
}

package fault

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// Fault is an error in its HTTP form: CouchDB's error object and its status.
type Fault struct {
	Status       int
	Name, Reason string
	JSON         bool        // Reason is JSON
	Header       http.Header // added to the response; may be nil
}

func (f *Fault) Error() string { return f.Name + ": " + f.Reason }

// StoreSilent is the reason of requests that fail because the store does not answer.
const StoreSilent = "The store is unable to service this request at the moment."

// kinds maps the kind of an error to a status, CouchDB's error name and, if the error has no reason, a reason
// (chttpd:error_info).
var kinds = map[layer.Kind]Fault{
	layer.Internal: {Status: 500, Name: "internal_server_error",
		Reason: "The request failed; the server's log says why."},
	layer.Invalid:      {Status: 400, Name: "bad_request"},
	layer.Unauthorized: {Status: 401, Name: "unauthorized", Reason: "You are not authorized."},
	layer.Forbidden:    {Status: 403, Name: "forbidden", Reason: "You are not allowed to do this."},
	layer.NotFound:     {Status: 404, Name: "not_found", Reason: "missing"},
	layer.Conflict:     {Status: 409, Name: "conflict", Reason: "Document update conflict."},
	layer.Exists: {Status: 412, Name: "file_exists",
		Reason: "The database could not be created, the file already exists."},
	layer.TooLarge:       {Status: 413, Name: "too_large", Reason: "the request entity is too large"},
	layer.NotImplemented: {Status: 501, Name: "not_implemented", Reason: "this feature is not yet implemented"},
	layer.Timeout: {Status: 500, Name: "timeout",
		Reason: "The request could not be processed in a reasonable amount of time."},
	layer.FunctionFailed: {Status: 500, Name: "unknown_error"},
	layer.Full:           {Status: 507, Name: "insufficient_storage", Reason: errDiskFull.Reason},
	layer.Unavailable: {Status: 503, Name: "service unavailable",
		Reason: StoreSilent},
}

// named has the errors whose status depends on their name instead of their kind.
var named = map[string]int{
	"missing_stub":                    http.StatusPreconditionFailed,
	"bad_content_type":                http.StatusUnsupportedMediaType,
	"requested_range_not_satisfiable": http.StatusRequestedRangeNotSatisfiable,
	"expectation_failed":              http.StatusExpectationFailed,
	"store_damaged":                   http.StatusInternalServerError,
	"insufficient_storage":            http.StatusInsufficientStorage,
}

// thrown are the statuses of errors that functions of design documents throw by name (chttpd:error_info).
var thrown = map[string]int{
	"bad_request": http.StatusBadRequest, "unauthorized": http.StatusUnauthorized, "forbidden": http.StatusForbidden,
	"not_found": http.StatusNotFound, "method_not_allowed": http.StatusMethodNotAllowed,
	"not_acceptable": http.StatusNotAcceptable, "conflict": http.StatusConflict, "gone": http.StatusGone,
}

// Thrown returns the answer to an error that a function of a design document has thrown by name.
func Thrown(name, reason string) *Fault {
	status, ok := thrown[name]
	if !ok {
		status = http.StatusInternalServerError
	}
	return &Fault{Status: status, Name: name, Reason: reason}
}

// Of returns the HTTP form of any error. An unclassified error becomes a 500 whose text appears only in the log.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		err = &layer.Error{Kind: layer.TooLarge}
	}
	if unread := (*Unreadable)(nil); errors.As(err, &unread) {
		return BadRequest("The request body cannot be read: %v", unread.Err)
	}
	kind := layer.KindOf(err)
	answer := kinds[kind]
	var e *layer.Error
	switch classified := errors.As(err, &e); {
	case !classified && kv.IsCode(err, kv.CodeUnwritable):
		answer = *errUnwritable
	case !classified && kv.IsCode(err, kv.CodeIOError):
		return errDiskFailed
	case !classified && kv.IsCode(err, kv.CodeFileCorrupt):
		return errDamaged
	case classified && kind != layer.Internal:
		if e.Name != "" {
			answer.Name = e.Name
		}
		if e.Reason != "" {
			answer.Reason, answer.JSON = e.Reason, e.JSON
		}
		if status, ok := named[answer.Name]; ok {
			answer.Status = status
		}
		if kind == layer.FunctionFailed {
			answer.Status = Thrown(answer.Name, "").Status
		}
		if kind == layer.Unavailable {
			answer.Header = retryLater
		}
	}
	if kind == layer.Full && kv.MaybeCommitted(err) {
		answer.Reason += " This write may have been done nevertheless."
	}
	return &answer
}

// RetryAfter is the number of seconds after which clients should retry.
const RetryAfter = "5"

// retryLater asks clients to try again.
var retryLater = http.Header{"Retry-After": {RetryAfter}}

// FunctionsBusy returns the answer if a function of a design document did not get a processor in time, else nil.
func FunctionsBusy(err error) error {
	var busy *script.BusyError
	if !errors.As(err, &busy) {
		return nil
	}
	return &Fault{Status: http.StatusServiceUnavailable, Name: "functions_busy", Reason: busy.Error(),
		Header: retryLater}
}

// NotCompiled returns the answer to the error of compiling a function of a design document.
func NotCompiled(err error) error {
	if busy := FunctionsBusy(err); busy != nil {
		return busy
	}
	return &Fault{Status: http.StatusInternalServerError, Name: "compilation_error", Reason: err.Error()}
}

// A store whose disk is full, not writable or failed is still read as far as possible, but takes no writes.
var (
	errDiskFull = &Fault{
		Status: http.StatusInsufficientStorage, Name: "insufficient_storage",
		Reason: "The disk of the store is full. Writes are accepted again once there is space. To make space, " +
			"documents can be deleted, databases removed and compaction run.",
	}
	errUnwritable = &Fault{
		Status: http.StatusInsufficientStorage, Name: "insufficient_storage",
		Reason: "The directory of the store cannot be written: it, or its disk, is read-only. " +
			"Writes are accepted again once it is writable.",
	}
	errDiskFailed = &Fault{
		Status: http.StatusServiceUnavailable, Name: "service unavailable",
		Reason: "The disk of the store failed: see the log of the node with the store. After a failure to write, " +
			"nothing more can be " +
			"written until that node is started again.",
	}
	errDamaged = &Fault{
		Status: http.StatusInternalServerError, Name: "store_damaged",
		Reason: "What was asked for is damaged on the disk of the store; everything else can be read and written. " +
			"An admin can find out what is damaged with " +
			"`divan verify`, save the rest of the database with `divan export -skip-damaged`, and restore it from " +
			"that or from a backup.",
	}
)

// Append appends CouchDB's error members without the braces, for rows of bulk responses.
func (f *Fault) Append(dst []byte) []byte {
	dst = append(dst, `"error":`...)
	dst = jsontext.AppendQuoted(dst, f.Name)
	dst = append(dst, `,"reason":`...)
	if f.JSON {
		return append(dst, f.Reason...)
	}
	return jsontext.AppendQuoted(dst, f.Reason)
}

// BadRequest is a 400 with CouchDB's most common name.
func BadRequest(format string, args ...any) *Fault {
	return &Fault{Status: http.StatusBadRequest, Name: "bad_request", Reason: fmt.Sprintf(format, args...)}
}

// BadQuery is a 400 about a query parameter of a view or of _all_docs.
func BadQuery(format string, args ...any) *Fault {
	return &Fault{Status: http.StatusBadRequest, Name: "query_parse_error", Reason: fmt.Sprintf(format, args...)}
}

// Unauthorized is a 401.
func Unauthorized(reason string) *Fault {
	return &Fault{Status: http.StatusUnauthorized, Name: "unauthorized", Reason: reason}
}

// Forbidden is a 403.
func Forbidden(reason string) *Fault {
	return &Fault{Status: http.StatusForbidden, Name: "forbidden", Reason: reason}
}

// NotFound is a 404.
func NotFound(reason string) *Fault {
	return &Fault{Status: http.StatusNotFound, Name: "not_found", Reason: reason}
}

// BadContentType is a 415.
func BadContentType(reason string) *Fault {
	return &Fault{Status: http.StatusUnsupportedMediaType, Name: "bad_content_type", Reason: reason}
}

// MethodNotAllowed is a 405. allow lists the allowed methods, in CouchDB's order.
func MethodNotAllowed(allow string) *Fault {
	return &Fault{
		Status: http.StatusMethodNotAllowed, Name: "method_not_allowed", Reason: "Only " + allow + " allowed",
		Header: http.Header{"Allow": {allow}},
	}
}

// TooLarge refuses a body without further details.
var TooLarge error = &layer.Error{Kind: layer.TooLarge}

// TooMany refuses lists that would take more memory than any request may have.
var TooMany = &Fault{
	Status: http.StatusRequestEntityTooLarge, Name: "too_large",
	Reason: "The request's list does not fit into the memory for requests (http.bodies in the node's settings). " +
		"Ask in several requests.",
}

// InvalidJSON is CouchDB's answer to invalid JSON.
var InvalidJSON = BadRequest("invalid UTF-8 JSON")

// Unreadable is an error in reading a request's body.
type Unreadable struct{ Err error }

func (u *Unreadable) Error() string { return u.Err.Error() }

func (u *Unreadable) Unwrap() error { return u.Err }

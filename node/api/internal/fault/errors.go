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
	Header       http.Header // added to the response; may be nil
}

func (f *Fault) Error() string { return f.Name + ": " + f.Reason }

// kinds is the one table from a domain error to a status, CouchDB's error name and, where the error says nothing, its
// reason (chttpd:error_info).
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
		Reason: "The store is unable to service this request at the moment."},
}

// named are the errors whose status follows from their name and not from their kind.
var named = map[string]int{
	"missing_stub":                    http.StatusPreconditionFailed,
	"bad_content_type":                http.StatusUnsupportedMediaType,
	"requested_range_not_satisfiable": http.StatusRequestedRangeNotSatisfiable,
	"expectation_failed":              http.StatusExpectationFailed,
	"store_damaged":                   http.StatusInternalServerError,
	"insufficient_storage":            http.StatusInsufficientStorage,
}

// Of gives any error its HTTP form. What nobody classified is a 500 whose text stays in the log.
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
			answer.Reason = e.Reason
		}
		if status, ok := named[answer.Name]; ok {
			answer.Status = status
		}
		if kind == layer.Unavailable {
			answer.Header = retryLater
		}
	}
	if kind == layer.Full && kv.MaybeCommitted(err) {
		answer.Reason += " This write may have been done all the same."
	}
	return &answer
}

// RetryAfter is after how many seconds clients are asked to try again.
const RetryAfter = "5"

// retryLater asks clients to try again.
var retryLater = http.Header{"Retry-After": {RetryAfter}}

// FunctionsBusy is the answer where a design document's function did not get a processor in time; nil where err says
// something else.
func FunctionsBusy(err error) error {
	var busy *script.BusyError
	if !errors.As(err, &busy) {
		return nil
	}
	return &Fault{Status: http.StatusServiceUnavailable, Name: "functions_busy", Reason: busy.Error(),
		Header: retryLater}
}

// A store whose disk is full, cannot be written or has failed is read as before, as far as that goes, and takes no
// write.
var (
	errDiskFull = &Fault{
		Status: http.StatusInsufficientStorage, Name: "insufficient_storage",
		Reason: "The disk of the store is full. Writes are taken again once there is room. Documents can be " +
			"deleted, databases removed and compaction run to make it.",
	}
	errUnwritable = &Fault{
		Status: http.StatusInsufficientStorage, Name: "insufficient_storage",
		Reason: "The directory of the store cannot be written: its permissions, or its disk, are for reading. " +
			"Writes are taken again once it can be.",
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
			"An admin finds out what is damaged with " +
			"`divan verify`, saves the rest of the database with `divan export -skip-damaged`, and restores it from " +
			"that or from a backup.",
	}
)

// Append adds CouchDB's error members, without the braces, so that rows of bulk answers can use them.
func (f *Fault) Append(dst []byte) []byte {
	dst = append(dst, `"error":`...)
	dst = jsontext.AppendQuoted(dst, f.Name)
	dst = append(dst, `,"reason":`...)
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

// MethodNotAllowed names the methods that are, in CouchDB's order.
func MethodNotAllowed(allow string) *Fault {
	return &Fault{
		Status: http.StatusMethodNotAllowed, Name: "method_not_allowed", Reason: "Only " + allow + " allowed",
		Header: http.Header{"Allow": {allow}},
	}
}

// TooLarge refuses a body without saying more.
var TooLarge error = &layer.Error{Kind: layer.TooLarge}

// TooMany refuses lists that would take more memory than any request can have.
var TooMany = &Fault{
	Status: http.StatusRequestEntityTooLarge, Name: "too_large",
	Reason: "The request lists more than fits into the memory for requests (http.bodies of the node's settings). " +
		"Ask in several requests.",
}

// InvalidJSON is CouchDB's answer to a text that is no JSON.
var InvalidJSON = BadRequest("invalid UTF-8 JSON")

// Unreadable is an error of reading a request's body.
type Unreadable struct{ Err error }

func (u *Unreadable) Error() string { return u.Err.Error() }

func (u *Unreadable) Unwrap() error { return u.Err }

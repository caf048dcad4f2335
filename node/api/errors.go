package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// fault is an error in its HTTP form: CouchDB's error object and its status.
type fault struct {
	status       int
	name, reason string
	header       http.Header // added to the response; may be nil
}

func (f *fault) Error() string { return f.name + ": " + f.reason }

// kinds is the one table from a domain error to a status, CouchDB's error name and, where the error says nothing, its reason (chttpd:error_info).
var kinds = map[layer.Kind]fault{
	layer.Internal:       {status: 500, name: "internal_server_error", reason: "The request failed; the server's log says why."},
	layer.Invalid:        {status: 400, name: "bad_request"},
	layer.Unauthorized:   {status: 401, name: "unauthorized", reason: "You are not authorized."},
	layer.Forbidden:      {status: 403, name: "forbidden", reason: "You are not allowed to do this."},
	layer.NotFound:       {status: 404, name: "not_found", reason: "missing"},
	layer.Conflict:       {status: 409, name: "conflict", reason: "Document update conflict."},
	layer.Exists:         {status: 412, name: "file_exists", reason: "The database could not be created, the file already exists."},
	layer.TooLarge:       {status: 413, name: "too_large", reason: "the request entity is too large"},
	layer.NotImplemented: {status: 501, name: "not_implemented", reason: "this feature is not yet implemented"},
	layer.Timeout:        {status: 500, name: "timeout", reason: "The request could not be processed in a reasonable amount of time."},
	layer.FunctionFailed: {status: 500, name: "unknown_error"},
	layer.Full:           {status: 507, name: "insufficient_storage", reason: errDiskFull.reason},
	layer.Unavailable:    {status: 503, name: "service unavailable", reason: "The store is unable to service this request at the moment."},
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

// faultOf gives any error its HTTP form. What nobody classified is a 500 whose text stays in the log.
func faultOf(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		err = &layer.Error{Kind: layer.TooLarge}
	}
	if unread := (*unreadable)(nil); errors.As(err, &unread) {
		return badRequest("The request body cannot be read: %v", unread.error)
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
			answer.name = e.Name
		}
		if e.Reason != "" {
			answer.reason = e.Reason
		}
		if status, ok := named[answer.name]; ok {
			answer.status = status
		}
		if kind == layer.Unavailable {
			answer.header = retryLater
		}
	}
	if kind == layer.Full && kv.MaybeCommitted(err) {
		answer.reason += " This write may have been done all the same."
	}
	return &answer
}

// retryLater asks clients to try again in some seconds.
var retryLater = http.Header{"Retry-After": {"5"}}

// functionsBusy is the answer where a design document's function did not get a processor in time; nil where err says something else.
func functionsBusy(err error) error {
	var busy *script.BusyError
	if !errors.As(err, &busy) {
		return nil
	}
	return &fault{status: http.StatusServiceUnavailable, name: "functions_busy", reason: busy.Error(), header: retryLater}
}

// A store whose disk is full, cannot be written or has failed is read as before, as far as that goes, and takes no write.
var (
	errDiskFull = &fault{
		status: http.StatusInsufficientStorage, name: "insufficient_storage",
		reason: "The disk of the store is full. Writes are taken again once there is room. Documents can be deleted, databases removed and compaction run to make it.",
	}
	errUnwritable = &fault{
		status: http.StatusInsufficientStorage, name: "insufficient_storage",
		reason: "The directory of the store cannot be written: its permissions, or its disk, are for reading. Writes are taken again once it can be.",
	}
	errDiskFailed = &fault{
		status: http.StatusServiceUnavailable, name: "service unavailable",
		reason: "The disk of the store failed: see the log of the node with the store. After a failure to write, nothing more can be " +
			"written until that node is started again.",
	}
	errDamaged = &fault{
		status: http.StatusInternalServerError, name: "store_damaged",
		reason: "What was asked for is damaged on the disk of the store; everything else can be read and written. An admin finds out what is damaged with " +
			"`divan verify`, saves the rest of the database with `divan export -skip-damaged`, and restores it from that or from a backup.",
	}
)

// append adds CouchDB's error members, without the braces, so that rows of bulk answers can use them.
func (f *fault) append(dst []byte) []byte {
	dst = append(dst, `"error":`...)
	dst = appendString(dst, f.name)
	dst = append(dst, `,"reason":`...)
	return appendString(dst, f.reason)
}

// badRequest is a 400 with CouchDB's most common name.
func badRequest(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, name: "bad_request", reason: fmt.Sprintf(format, args...)}
}

// badQuery is a 400 about a query parameter of a view or of _all_docs.
func badQuery(format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, name: "query_parse_error", reason: fmt.Sprintf(format, args...)}
}

func unauthorized(reason string) *fault {
	return &fault{status: http.StatusUnauthorized, name: "unauthorized", reason: reason}
}

func forbidden(reason string) *fault {
	return &fault{status: http.StatusForbidden, name: "forbidden", reason: reason}
}

func notFound(reason string) *fault {
	return &fault{status: http.StatusNotFound, name: "not_found", reason: reason}
}

func badContentType(reason string) *fault {
	return &fault{status: http.StatusUnsupportedMediaType, name: "bad_content_type", reason: reason}
}

// methodNotAllowed names the methods that are, in CouchDB's order.
func methodNotAllowed(allow string) *fault {
	return &fault{
		status: http.StatusMethodNotAllowed, name: "method_not_allowed", reason: "Only " + allow + " allowed",
		header: http.Header{"Allow": {allow}},
	}
}

var errInvalidJSON = badRequest("invalid UTF-8 JSON")

// clientGone reports whether err is the end of the request's own context: there is nobody to answer.
func clientGone(r *http.Request, err error) bool {
	return err != nil && r.Context().Err() != nil && errors.Is(r.Context().Err(), context.Canceled)
}

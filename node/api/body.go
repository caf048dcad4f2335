package api

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// requireJSON refuses a body of any other type (415), as CouchDB does on POST.
func (q *request) requireJSON() error {
	if mediaType(q.r.Header.Get("Content-Type")) != "application/json" {
		return badContentType("Content-Type must be application/json")
	}
	return nil
}

// mediaType is a Content-Type without its parameters, in lower case.
func mediaType(contentType string) string {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(contentType))
}

// wholeBody reads the whole request body, decoded, at most as many bytes as the endpoint takes. The request's share of
// the memory for bodies is held until its end, or until releaseBody.
func (q *request) wholeBody() ([]byte, error) {
	if q.r.ContentLength == 0 && q.r.Header.Get("Content-Length") == "" {
		return nil, badRequest("Missing request body")
	}
	switch encoding := strings.ToLower(q.r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return q.take(q.r.Body, q.r.ContentLength, q.most)
	case "gzip":
		unzipped, err := gzip.NewReader(q.r.Body)
		if err != nil {
			return nil, notGzipped(err)
		}
		text, err := q.take(unzipped, -1, q.most)
		return text, notGzipped(err)
	default:
		return nil, badContentType(encoding + " is not a supported content encoding.")
	}
}

var errTooLarge = &layer.Error{Kind: layer.TooLarge}

// errTooMany refuses lists that would take more memory than any request can have.
var errTooMany = &fault{
	status: http.StatusRequestEntityTooLarge, name: "too_large",
	reason: "The request lists more than fits into the memory for requests (http.bodies of the node's settings). Ask in several requests.",
}

// notGzipped tells a broken gzip stream from everything else that can happen to a body.
func notGzipped(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &corrupt):
		return badRequest("Request body is not properly gzipped.")
	}
	return err
}

// jsonBody reads and validates the body.
func (q *request) jsonBody() (gjson.Result, error) {
	text, err := q.wholeBody()
	if err != nil {
		return gjson.Result{}, err
	}
	return parseJSON(text)
}

// objectBody reads the body, which has to be a JSON object.
func (q *request) objectBody() (gjson.Result, error) {
	v, err := q.jsonBody()
	if err == nil && !v.IsObject() {
		err = badRequest("Request body must be a JSON object")
	}
	return v, err
}

// member returns the member of an object with that name, the last one where there are several, as CouchDB does; the zero Result where there is none. gjson's Get
// takes paths, and keys may look like one.
func member(object gjson.Result, name string) (found gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
		}
		return true
	})
	return found
}

// elements is how many elements an array has, or a little more: memory for them is asked for before they are parsed.
func elements(array gjson.Result) int { return strings.Count(array.Raw, ",") + 1 }

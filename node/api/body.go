package api

import (
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

// clientBody marks the errors of reading a request's body, which are the client's: malformed chunks, a connection that broke off.
type clientBody struct{ io.ReadCloser }

func (b clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader says so
		err = &unreadable{err}
	}
	return n, err
}

// unreadable is an error of reading a request's body.
type unreadable struct{ error }

func (u *unreadable) Unwrap() error { return u.error }

// mediaType is a Content-Type without its parameters, in lower case.
func mediaType(contentType string) string {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(contentType))
}

// body reads the whole request body, decoded, at most Limits.Request bytes.
func (q *request) body() ([]byte, error) {
	if q.r.ContentLength == 0 && q.r.Header.Get("Content-Length") == "" {
		return nil, badRequest("Missing request body")
	}
	limit := q.srv.o.Limits.Request
	var body io.Reader = http.MaxBytesReader(q.w, q.r.Body, limit)
	size := q.r.ContentLength
	switch encoding := strings.ToLower(q.r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if size > limit {
			return nil, &layer.Error{Kind: layer.TooLarge}
		}
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, notGzipped(err)
		}
		body, size = io.LimitReader(unzipped, limit+1), -1
	default:
		return nil, badContentType(encoding + " is not a supported content encoding.")
	}
	text, err := readAll(body, size)
	if err != nil {
		if size < 0 && q.r.Header.Get("Content-Encoding") != "" {
			err = notGzipped(err)
		}
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, &layer.Error{Kind: layer.TooLarge}
	}
	return text, nil
}

// readAll reads r to its end, in one allocation where the size is known.
func readAll(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(r)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return text, nil
}

// notGzipped tells a broken gzip stream from a connection or limit that broke off.
func notGzipped(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return badRequest("Request body is not properly gzipped.")
}

// jsonBody reads and validates the body.
func (q *request) jsonBody() (gjson.Result, error) {
	text, err := q.body()
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

// member returns the first member of an object with that name; the zero Result where there is none. gjson's Get takes paths, and keys may look
// like one.
func member(object gjson.Result, name string) (found gjson.Result) {
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
			return false
		}
		return true
	})
	return found
}

// stringsOf returns an array's members if all of them are strings.
func stringsOf(array gjson.Result) (list []string, ok bool) {
	if !array.IsArray() {
		return nil, false
	}
	ok = true
	list = []string{}
	array.ForEach(func(_, v gjson.Result) bool {
		if ok = v.Type == gjson.String; ok {
			list = append(list, v.Str)
		}
		return ok
	})
	return list, ok
}

package call

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/fault"
)

// RequireJSON refuses a body of any other type with 415, as CouchDB does for POST.
func (q *Request) RequireJSON() error {
	if MediaType(q.R.Header.Get("Content-Type")) != "application/json" {
		return fault.BadContentType("Content-Type must be application/json")
	}
	return nil
}

// PostedObject reads the body, which must be a JSON object and declared as JSON.
func (q *Request) PostedObject() (gjson.Result, error) {
	if err := q.RequireJSON(); err != nil {
		return gjson.Result{}, err
	}
	return q.Body.Object()
}

// MediaType returns a Content-Type without its parameters, in lower case.
func MediaType(contentType string) string {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(contentType))
}

// Accepts reports whether the client lists a media type in Accept. A client that lists none, or only */*, gets JSON,
// unlike with CouchDB, which sends multipart to curl.
func (q *Request) Accepts(typ, subtype string) bool {
	for _, header := range q.R.Header["Accept"] {
		for _, one := range strings.Split(header, ",") {
			name, options, _ := strings.Cut(one, ";")
			t, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "/")
			if t == typ && (sub == subtype || sub == "*") && !refusedQuality(options) {
				return true
			}
		}
	}
	return false
}

// refusedQuality reports whether a media range's parameters say q=0.
func refusedQuality(options string) bool {
	for _, o := range strings.Split(options, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(o), "=")
		if strings.EqualFold(name, "q") && strings.Trim(value, "0.") == "" {
			return true
		}
	}
	return false
}

// AcceptsEncoding reports whether Accept-Encoding allows encoding.
func (q *Request) AcceptsEncoding(encoding string) bool {
	for _, one := range strings.Split(q.R.Header.Get("Accept-Encoding"), ",") {
		name, options, _ := strings.Cut(one, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if (name == encoding || name == "*") && !refusedQuality(options) {
			return true
		}
	}
	return false
}

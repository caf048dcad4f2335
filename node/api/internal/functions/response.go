package functions

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// response is the response object of a function.
type response struct {
	code        int
	hasCode     bool
	header      http.Header
	contentType string // by default
	body        []byte
	json        []byte // instead of body
}

// framing has the headers of how a response is sent, which functions cannot set.
var framing = []string{"Connection", "Content-Length", "Keep-Alive", "Trailer", "Transfer-Encoding", "Upgrade"}

// oneLine replaces line breaks, which would end a header.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// maxNested is how deep the lists of a body may be nested.
const maxNested = 32

func (r *response) set(name, value string) { r.header[http.CanonicalHeaderKey(name)] = []string{value} }

// parseResponse reads a response object (chttpd_external:parse_external_response).
func parseResponse(of gjson.Result) (*response, error) {
	if !of.IsObject() { // JSON.stringify makes texts of dates, for example
		return nil, badResponse("", of)
	}
	r := &response{code: http.StatusOK, header: http.Header{}, contentType: "application/json"}
	var err error
	of.ForEach(func(name, value gjson.Result) bool {
		err = r.take(name.Str, value)
		return err == nil
	})
	return r, err
}

func (r *response) take(name string, value gjson.Result) error {
	switch {
	case name == "code":
		code, err := strconv.Atoi(value.String()) // CouchDB takes "201" too
		if err != nil || code < 200 || code > 999 {
			return badResponse(name, value)
		}
		r.code, r.hasCode = code, true
	case name == "json":
		r.json, r.contentType = []byte(value.Raw), "application/json"
	case name == "body":
		body, ok := appendText(nil, value, maxNested)
		if !ok {
			return badResponse(name, value)
		}
		r.body, r.contentType = body, "text/html; charset=utf-8"
	case name == "base64" && value.Type == gjson.String:
		data, err := base64.StdEncoding.DecodeString(value.Str)
		if err != nil {
			return badResponse(name, value)
		}
		r.body, r.contentType = data, "application/binary"
	case name == "headers" && value.IsObject():
		value.ForEach(func(name, value gjson.Result) bool {
			if key := http.CanonicalHeaderKey(name.Str); key != "" && !slices.Contains(framing, key) {
				r.header[key] = []string{oneLine.Replace(value.String())}
			}
			return true
		})
	case name == "stop" && value.Type == gjson.True:
	default:
		return badResponse(name, value)
	}
	return nil
}

// appendText appends the bytes of a body to out: a text, or a list of texts, bytes as numbers, and such lists, which
// CouchDB sends as what Erlang calls an iolist. It reports false for anything else, and for lists nested deeper than
// depth, each level of which is read again.
func appendText(out []byte, value gjson.Result, depth int) (_ []byte, ok bool) {
	switch {
	case value.Type == gjson.String:
		return append(out, value.Str...), true
	case !value.IsArray() || depth == 0:
		return nil, false
	}
	ok = true
	value.ForEach(func(_, item gjson.Result) bool {
		if item.Type == gjson.Number {
			n, err := strconv.ParseUint(item.Raw, 10, 8)
			out, ok = append(out, byte(n)), err == nil
		} else {
			out, ok = appendText(out, item, depth-1)
		}
		return ok
	})
	return out, ok
}

// badResponse is the answer to a response object that is none.
func badResponse(name string, value gjson.Result) error {
	shown := value.Raw
	if len(shown) > 200 {
		shown = strings.ToValidUTF8(shown[:200], "") + "..."
	}
	if name != "" {
		shown = `"` + name + `": ` + shown
	}
	return &fault.Fault{Status: http.StatusInternalServerError, Name: "external_response_error",
		Reason: `Invalid data from external server: ` + shown}
}

// setHeaders sets the headers of the answer. Only what is certainly JSON becomes a call of a function (JSONP).
// Browsers run no scripts of a page that anyone who may write a design document has made: it is on the same host as the
// console.
func (r *response) setHeaders(q *call.Request) {
	call.Plain(q, r.json == nil)
	h := q.W.Header()
	for name, values := range r.header {
		h[name] = values
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = []string{r.contentType}
	}
	if policy := call.ContentPolicy(q, "showlist", "sandbox"); policy != "" && r.json == nil {
		policies := append([]string{policy}, r.header["Content-Security-Policy"]...)
		h["Content-Security-Policy"] = []string{strings.Join(policies, ", ")}
	}
}

// unsetHeaders removes what setHeaders has set.
func (r *response) unsetHeaders(q *call.Request) {
	call.Plain(q, false)
	h := q.W.Header()
	for name := range r.header {
		delete(h, name)
	}
	delete(h, "Content-Security-Policy")
}

// send answers with the response.
func (r *response) send(q *call.Request) error {
	r.setHeaders(q)
	if r.json != nil {
		return q.SendJSON(r.code, r.json)
	}
	if r.code == http.StatusNoContent || r.code == http.StatusNotModified {
		q.W.WriteHeader(r.code)
		return nil
	}
	return q.SendBytes(r.code, r.body)
}

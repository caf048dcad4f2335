package render

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
)

// ObjectOf is what a request object has that the request itself does not tell.
type ObjectOf struct {
	DocID *string // of the document in the path; nil: none
	// Body is the body as JSON: a string, or the object that was posted. Empty means that there is none.
	Body []byte
	// Form is the body of a form that was posted.
	Form []byte
}

// RequestObject returns the request as functions of design documents see it, as JSON (CouchDB's
// chttpd_external:json_req_obj). It leaves out credentials, as CouchDB does.
func RequestObject(q *call.Request, of ObjectOf) ([]byte, error) {
	info, err := q.DB.Info(q.Ctx())
	if err != nil {
		return nil, err
	}
	security, err := q.DB.Security(q.Ctx())
	if err != nil {
		return nil, err
	}
	b := Info([]byte(`{"info":`), &info)
	b = encode.StringMember(b, "uuid", RandomHex())
	b = append(b, `,"id":`...)
	if of.DocID == nil {
		b = append(b, "null"...)
	} else {
		b = jsontext.AppendQuoted(b, *of.DocID)
	}
	b = encode.StringMember(b, "method", q.R.Method)
	b = jsontext.AppendStrings(encode.Member(b, "requested_path"), q.Path)
	b = jsontext.AppendStrings(encode.Member(b, "path"), q.Path)
	b = encode.StringMember(b, "raw_path", q.R.URL.RequestURI())
	if b, err = appendQuery(b, q.Params); err != nil {
		return nil, err
	}
	b = appendHeaders(b, q)
	b = append(b, `,"body":`...)
	switch {
	case len(of.Body) > 0:
		b = append(b, of.Body...)
	case q.R.Header.Get("Content-Length") != "": // a client that sends POST without a body says that it is empty
		b = append(b, `""`...)
	default:
		b = append(b, `"undefined"`...)
	}
	b = encode.StringMember(b, "peer", peer(q))
	b = append(b, `,"form":{`...)
	for _, p := range call.ParseForm(string(of.Form)) {
		b = encode.StringMember(b, p.Name, p.Value)
	}
	b = append(b, `},"cookie":{},"userCtx":{"db":`...)
	b = append(jsontext.AppendQuoted(b, q.Path[0]), `,"name":`...)
	if q.User.Name == "" {
		b = append(b, "null"...)
	} else {
		b = jsontext.AppendQuoted(b, q.User.Name)
	}
	b = jsontext.AppendStrings(append(b, `,"roles":`...), q.User.Roles)
	b = append(append(b, `},"secObj":`...), security...)
	return append(b, '}'), nil
}

// appendQuery appends the query parameters, of which those that are keys are JSON.
func appendQuery(b []byte, params call.Params) ([]byte, error) {
	b = append(encode.Member(b, "query"), '{')
	for _, p := range params {
		switch p.Name {
		case "key", "startkey", "endkey", "descending":
			v, err := decode.Text(p.Value)
			if err != nil {
				return nil, err
			}
			b = append(encode.Member(b, p.Name), v.Raw...)
		default:
			b = encode.StringMember(b, p.Name, p.Value)
		}
	}
	return append(b, '}'), nil
}

// secretHeaders are not shown to functions.
var secretHeaders = map[string]bool{"Authorization": true, "Cookie": true, "X-Auth-Couchdb-Username": true,
	"X-Auth-Couchdb-Roles": true, "X-Auth-Couchdb-Token": true}

func appendHeaders(b []byte, q *call.Request) []byte {
	b = append(encode.Member(b, "headers"), '{')
	b = encode.StringMember(b, "Host", q.R.Host)
	for name, values := range q.R.Header {
		if !secretHeaders[name] {
			b = encode.StringMember(b, name, strings.Join(values, ", "))
		}
	}
	return append(b, '}')
}

func peer(q *call.Request) string {
	host, _, err := net.SplitHostPort(q.R.RemoteAddr)
	if err != nil {
		return q.R.RemoteAddr
	}
	return host
}

// RandomHex returns 32 random hex digits.
func RandomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// IsForm reports whether the request posts a form.
func IsForm(q *call.Request) bool {
	return (q.Method == http.MethodPost || q.Method == http.MethodPut) &&
		call.MediaType(q.R.Header.Get("Content-Type")) == "application/x-www-form-urlencoded"
}

// Charged returns the request's context for calls of functions, whose time is charged to the database.
func Charged(q *call.Request) context.Context {
	return script.Charge(q.Ctx(), q.DB.Name(), script.Query)
}

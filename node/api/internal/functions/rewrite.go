package functions

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// maxRewrites is how often a request may be rewritten.
const maxRewrites = 100

// errNoRule is the answer to a design document without rules, and to a path for which its function has no rewrite.
var errNoRule = &fault.Fault{Status: http.StatusNotFound, Name: "rewrite_error", Reason: "Invalid path."}

func rewriteError(reason string) error {
	return &fault.Fault{Status: http.StatusInternalServerError, Name: "rewrite_error", Reason: reason}
}

// Rewrite answers any method of .../_rewrite/...: it makes another request of this one, by the rules or the function of
// the design document. The new request is checked like any other.
func (h *Handlers) Rewrite(q *call.Request) error {
	if q.Rewrites >= maxRewrites {
		return fault.BadRequest("Exceeded rewrite recursion limit")
	}
	d, err := h.design(q)
	if err != nil {
		return err
	}
	switch rules := decode.Member(gjson.ParseBytes(d.text), "rewrites"); {
	case rules.IsArray():
		return h.rewriteByRules(q, rules)
	case rules.Type == gjson.String:
		return h.rewriteByFunction(q, d, rules)
	}
	return errNoRule
}

// rewriteByFunction asks the function. It gets the body too, so the body is read.
func (h *Handlers) rewriteByFunction(q *call.Request, d *design, source gjson.Result) error {
	f, err := h.compile(q, d, "rewrites", source)
	if err != nil {
		return err
	}
	var text []byte
	if hasBody(q) {
		if text, err = q.Body.Whole(); err != nil {
			return err
		}
		call.SetBody(q, text)
	}
	req, err := requestObject(q, nil)
	if err != nil {
		return err
	}
	out, err := f.Rewrite(render.Charged(q), req)
	items, err := functionResult(out, err, "rewrite_error")
	if err != nil {
		return err
	}
	if items[0].Str == "no_dispatch_rule" {
		return errNoRule
	}
	to, err := parseRewrite(items[1])
	if err != nil {
		return err
	}
	if body := to.body; body != nil {
		text = []byte(*body)
	}
	if to.code != 0 {
		return to.answer(q, text)
	}
	if text != nil {
		call.SetBody(q, text)
	}
	for _, h := range to.headers {
		q.R.Header.Set(h.Name, h.Value)
	}
	if to.method != "" {
		q.Method, q.R.Method = to.method, to.method
	}
	return h.goOn(q, to.path, to.params)
}

// rewrite is what a rewrite function returns. Members that are missing are empty.
type rewrite struct {
	path    []string
	params  call.Params
	method  string
	headers call.Params
	body    *string
	code    int
}

// parseRewrite reads and validates what a rewrite function returned.
func parseRewrite(of gjson.Result) (*rewrite, error) {
	if !of.IsObject() {
		return nil, rewriteError("bad rewrite")
	}
	r := &rewrite{}
	path, hasPath, query := "", false, false
	var err error
	of.ForEach(func(name, value gjson.Result) bool {
		isText := value.Type == gjson.String
		switch name.Str {
		case "method":
			r.method = strings.ToUpper(value.Str)
			err = unless(isText && r.method != "", "bad method")
		case "path":
			path, hasPath = value.Str, true
			err = unless(isText, "bad path")
		case "body":
			r.body = &value.Str
			err = unless(isText, "bad body")
		case "code":
			r.code = int(value.Num)
			err = unless(value.Type == gjson.Number && value.Num >= 200 && value.Num < 600 &&
				float64(r.code) == value.Num, "bad code")
		case "headers":
			r.headers, err = texts(value, "bad headers")
		case "query":
			query = true
			r.params, err = texts(value, "bad query")
		}
		return err == nil
	})
	if err != nil || r.code != 0 {
		return r, err
	}
	if !hasPath {
		return nil, rewriteError("Rewrite result must produce a new path.")
	}
	return r, r.takePath(path, query)
}

func unless(ok bool, reason string) error {
	if ok {
		return nil
	}
	return rewriteError(reason)
}

// texts returns the members of an object, which must be strings, in order; never nil for an object.
func texts(of gjson.Result, wrong string) (call.Params, error) {
	if !of.IsObject() {
		return nil, rewriteError(wrong)
	}
	out := call.Params{}
	var err error
	of.ForEach(func(name, value gjson.Result) bool {
		if value.Type != gjson.String {
			err = rewriteError("object key/value must be strings " + name.Raw + "=" + value.Raw)
			return false
		}
		out = append(out, call.Param{Name: name.Str, Value: value.Str})
		return true
	})
	return out, err
}

// takePath splits the path, which may have parameters. They are used if the function gives no others.
func (r *rewrite) takePath(path string, hasQuery bool) error {
	path, query, _ := strings.Cut(path, "?")
	for _, segment := range strings.Split(path, "/") {
		name, ok := call.Unescape(segment)
		if !ok {
			return rewriteError("bad path")
		}
		r.path = append(r.path, name)
	}
	if query == "" || hasQuery {
		return nil
	}
	var ok bool
	if r.params, ok = call.ParseQuery(query); !ok {
		return rewriteError("bad path")
	}
	return nil
}

// answer answers the request with what the function returned.
func (r *rewrite) answer(q *call.Request, text []byte) error {
	out := response{code: r.code, header: http.Header{}, body: text, contentType: "text/plain; charset=utf-8"}
	for _, h := range r.headers {
		out.set(h.Name, oneLine.Replace(h.Value))
	}
	for _, name := range framing {
		delete(out.header, name)
	}
	return out.send(q)
}

// goOn answers the rewritten request. The path is relative to the design document. params nil are those of the request.
func (h *Handlers) goOn(q *call.Request, path []string, params call.Params) error {
	if params == nil {
		params = q.Params
	}
	call.Rewrite(q, resolve(append([]string{q.Path[0], "_design", q.Path[2]}, path...)), params)
	q.R.URL = &url.URL{Path: "/" + strings.Join(q.Path, "/"), RawPath: escaped(q.Path), RawQuery: encoded(params)}
	return h.Again(q)
}

// resolve removes "." and ".." from a path. ".." beyond the root remain, and lead nowhere.
func resolve(path []string) []string {
	out := []string{}
	for _, segment := range path {
		switch last := len(out) - 1; {
		case segment == "" || segment == ".":
		case segment == ".." && last >= 0 && out[last] != "..":
			out = out[:last]
		default:
			out = append(out, segment)
		}
	}
	return out
}

func escaped(path []string) string {
	var b strings.Builder
	for _, segment := range path {
		b.WriteString("/" + strings.ReplaceAll(url.PathEscape(segment), "+", "%2B")) // a plus sign means a space
	}
	return b.String()
}

func encoded(params call.Params) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.Name) + "=" + url.QueryEscape(p.Value))
	}
	return b.String()
}

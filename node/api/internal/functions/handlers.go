package functions

import (
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/docs"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
	"github.com/divandb/divan/node/api/internal/rows"
)

// Handlers answer with what functions return.
type Handlers struct {
	Scripts *script.Sandbox // nil: functions are not run
	Docs    *docs.Handlers
	Rows    *rows.Handlers
	// Again answers a request whose path, parameters, method or body were rewritten, with the access rules of its new
	// path.
	Again func(*call.Request) error
}

// design is a design document as its functions see it.
type design struct {
	text []byte // its JSON, which is `this` in functions
	rev  layer.Rev
}

// design reads the design document that the path names.
func (h *Handlers) design(q *call.Request) (*design, error) {
	if h.Scripts == nil {
		return nil, &layer.Error{Kind: layer.NotImplemented}
	}
	doc, err := q.DB.Get(q.Ctx(), "_design/"+q.Part(2), layer.GetOptions{})
	if err != nil {
		return nil, err
	}
	return &design{doc.AppendJSON(nil), doc.Rev}, nil
}

// function compiles one of the design document's functions: the member name of the object kind, such as shows.
func (h *Handlers) function(q *call.Request, d *design, kind, name string) (*script.Responder, error) {
	all := decode.Member(gjson.ParseBytes(d.text), kind)
	if !all.IsObject() {
		return nil, fault.NotFound("missing json key: " + kind)
	}
	source := decode.Member(all, name)
	if !source.Exists() {
		return nil, fault.NotFound("missing json key: " + name)
	}
	return h.compile(q, d, kind+"."+name, source)
}

func (h *Handlers) compile(q *call.Request, d *design, name string, source gjson.Result) (*script.Responder, error) {
	if language := decode.Member(gjson.ParseBytes(d.text), "language"); language.Exists() &&
		language.Str != "javascript" {
		return nil, &layer.Error{Kind: layer.NotImplemented, Name: "unknown_query_language", Reason: language.Str}
	}
	if source.Type != gjson.String {
		return nil, fault.NotCompiled(errors.New(name + " is not the text of a function"))
	}
	f, err := h.Scripts.Responder(render.Charged(q), d.text, script.Function{Name: name, Source: source.Str})
	if err != nil {
		return nil, fault.NotCompiled(err)
	}
	return f, nil
}

// functionResult returns the items of what a function's call returned, and its error as a Fault. failed is the name of
// the error if the function threw something else.
func functionResult(out []byte, err error, failed string) ([]gjson.Result, error) {
	if err != nil {
		return nil, failure(err, failed)
	}
	items := gjson.ParseBytes(out).Array()
	if items[0].Str != "error" {
		return items, nil
	}
	return nil, fault.Thrown(items[1].Str, items[2].Str)
}

// failure returns the answer to a function that threw or was stopped. Errors of the store and of the client remain.
func failure(err error, failed string) error {
	if busy := fault.FunctionsBusy(err); busy != nil {
		return busy
	}
	var thrown *script.RuntimeError
	var over *script.LimitError
	if errors.As(err, &thrown) || errors.As(err, &over) {
		return &fault.Fault{Status: http.StatusInternalServerError, Name: failed,
			Reason: "function raised error: " + err.Error()}
	}
	return err
}

// maxRevisions is how many revisions a function is told in _revisions, as in CouchDB (the default of
// query_server_config/revs_limit).
const maxRevisions = 20

// document reads the document whose id the rest of the path is, from segment at on. The text is "null" if there is
// none. id is nil if the path names none.
func (h *Handlers) document(q *call.Request, at int) (id *string, doc *layer.Document, text []byte, err error) {
	if len(q.Path) <= at {
		return nil, nil, []byte("null"), nil
	}
	name := q.Path[at]
	for _, segment := range q.Path[at+1:] {
		name += "/" + segment
	}
	doc, err = h.Docs.Read(q, name, layer.GetOptions{Conflicts: true, Revs: true})
	if err == nil {
		seen := *doc
		seen.Revs = seen.Revs[:min(len(seen.Revs), maxRevisions)]
		return &name, doc, seen.AppendJSON(nil), nil
	}
	if kind := layer.KindOf(err); kind != layer.NotFound && kind != layer.Invalid {
		return nil, nil, nil, err
	}
	return &name, nil, []byte("null"), nil
}

// requestObject returns CouchDB's request object. It reads the body.
func requestObject(q *call.Request, id *string) ([]byte, error) {
	of := render.ObjectOf{DocID: id}
	if hasBody(q) {
		text, err := q.Body.Whole()
		if err != nil {
			return nil, err
		}
		of.Body = jsontext.AppendQuoted(nil, string(text))
		if render.IsForm(q) {
			of.Form = text
		}
	}
	return render.RequestObject(q, of)
}

func hasBody(q *call.Request) bool {
	return q.R.ContentLength != 0 && q.Method != http.MethodGet && q.Method != http.MethodHead
}

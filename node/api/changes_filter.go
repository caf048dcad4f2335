package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/query/selector"
)

// changeFilter decides which changes a feed shows. The zero value shows all.
type changeFilter struct {
	// match sees an entry before anything is read for it.
	match func(*layer.Change) bool
	// ids and only name the documents that can match, where they are few: what is old of them is found without reading
	// the feed.
	ids  []string
	only layer.Subset
	// selector and function see documents; at most one of them is set.
	selector *selector.Selector
	function *script.Filter
	req      []byte // CouchDB's request object, JSON
	doc      []byte // the document asked about, used again for the next
}

func (f *changeFilter) needsDocs() bool { return f.function != nil || f.selector != nil }

// changesFilter prepares the filter that the request names.
func (q *request) changesFilter(c *changesQuery) (f *changeFilter, err error) {
	switch {
	case c.filter == "":
		f = &changeFilter{}
	case c.filter == "_design":
		f = &changeFilter{match: func(c *layer.Change) bool { return isDesign(c.ID) }, only: layer.DesignOnly}
	case c.filter == "_view":
		f, err = q.viewFilter()
	case c.filter == "_doc_ids":
		return q.docIDsFilter(c)
	case c.filter == "_selector":
		return q.selectorFilter(c)
	case c.filter[0] == '_':
		err = badRequest("unknown builtin filter name")
	default:
		f, err = q.functionFilter(c.filter)
	}
	if err != nil {
		return nil, err
	}
	_, err = q.postedBody() // it has to be right, though nothing in it counts
	q.releaseBody()
	return f, err
}

// fewIDs is how many documents are rather looked up than searched for in the feed.
const fewIDs = 1000

func (q *request) docIDsFilter(c *changesQuery) (*changeFilter, error) {
	q.willKeep(c, idSetGuess)
	list, err := q.docIDs()
	if err != nil {
		return nil, err
	}
	if err := q.parts(idSetCost(list)); err != nil {
		return nil, err
	}
	wanted, ok := newIDSet(list)
	if !ok {
		return nil, badRequest("`doc_ids` filter parameter is not a list of doc ids.")
	}
	q.releaseBody()
	if err := q.keep(c, wanted.size()); err != nil {
		return nil, err
	}
	f := &changeFilter{match: func(c *layer.Change) bool { return wanted.has(c.ID) }}
	if wanted.len() <= fewIDs {
		f.ids = wanted.list()
	}
	return f, nil
}

// docIDs is the list of ids, from the body of a POST and from the parameters of others.
func (q *request) docIDs() (gjson.Result, error) {
	if q.method == http.MethodPost {
		body, err := q.postedBody()
		return member(body, "doc_ids"), err
	}
	list, err := q.params.json("doc_ids")
	if err != nil {
		return list, err
	}
	return list, q.reserve(int64(len(list.Raw)))
}

// maxSelector is the size of the largest selector, in bytes. Parsed, it takes up to selectorCost times its size.
const (
	maxSelector  = 1 << 20
	selectorCost = 24
)

// selectorFilter is a Mango selector, with the fields that are shown of documents.
func (q *request) selectorFilter(c *changesQuery) (*changeFilter, error) {
	if q.method != http.MethodPost {
		return nil, badRequest("Selector must be specified in POST payload")
	}
	q.willKeep(c, func(size int64) int64 { return selectorCost * min(size, maxSelector) })
	body, err := q.postedBody()
	if err != nil {
		return nil, err
	}
	if len(body.Raw) > maxSelector {
		return nil, &layer.Error{Kind: layer.TooLarge}
	}
	text := member(body, "selector")
	if !text.IsObject() {
		return nil, badRequest("Selector error: expected a JSON object")
	}
	cost := selectorCost * int64(len(body.Raw))
	if err := q.parts(cost); err != nil {
		return nil, err
	}
	parsed, err := selector.Parse([]byte(text.Raw))
	if fields := member(body, "fields"); err == nil && fields.Exists() {
		c.render.fields, err = selector.ParseFields(fields)
	}
	var wrong *selector.Error
	if errors.As(err, &wrong) {
		return nil, badRequest("%s", wrong.Reason)
	}
	if err != nil {
		return nil, err
	}
	q.releaseBody()
	return &changeFilter{selector: parsed}, q.keep(c, cost+int64(parsed.Extra()))
}

// viewFilter shows the documents for which a view's map function emits.
func (q *request) viewFilter() (*changeFilter, error) {
	text := q.params.get("view", "")
	if text == "" {
		return nil, badRequest("`view` filter parameter is not provided.")
	}
	name, view, ok := cutName(text)
	if !ok {
		return nil, badRequest("`view` must be of the form `designname/viewname`")
	}
	design, source, err := q.designSource(name)
	if err != nil {
		return nil, err
	}
	_, def, ok := design.View(view)
	if !ok {
		return nil, notFound("missing json key: " + view)
	}
	function := script.Function{Name: "views." + view + ".map", Source: def.Map}
	f, err := q.srv.o.Scripts.FilterByView(q.charged(), source, function)
	return q.compiled(f, err)
}

// functionFilter is a filter function of a design document.
func (q *request) functionFilter(text string) (*changeFilter, error) {
	name, function, ok := cutName(text)
	if !ok {
		return nil, badRequest("`filter` must be of the form `designname/filtername`")
	}
	design, source, err := q.designSource(name)
	if err != nil {
		return nil, err
	}
	code, ok := design.Filters[function]
	if !ok {
		missing := function
		if design.Filters == nil {
			missing = "filters"
		}
		return nil, notFound("missing json key: " + missing)
	}
	f, err := q.srv.o.Scripts.Filter(q.charged(), source, script.Function{Name: "filters." + function, Source: code})
	return q.compiled(f, err)
}

func (q *request) compiled(f *script.Filter, err error) (*changeFilter, error) {
	if err != nil {
		if busy := functionsBusy(err); busy != nil {
			return nil, busy
		}
		return nil, &fault{status: http.StatusInternalServerError, name: "compilation_error", reason: err.Error()}
	}
	return &changeFilter{function: f, req: q.requestObject()}, nil
}

// charged is the request's context for functions: their time is the database's.
func (q *request) charged() context.Context {
	return script.Charge(q.ctx(), q.db.Name(), script.Query)
}

// cutName splits designname/functionname.
func cutName(text string) (design, function string, ok bool) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' })
	if len(parts) != 2 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// designSource reads a design document, parsed and as JSON, which is what its functions see as `this`.
func (q *request) designSource(name string) (*layer.Design, []byte, error) {
	if q.srv.o.Scripts == nil {
		return nil, nil, &layer.Error{Kind: layer.NotImplemented}
	}
	design, err := q.db.Design(q.ctx(), name)
	if err != nil {
		return nil, nil, err
	}
	doc, err := q.db.Get(q.ctx(), design.ID, layer.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	return design, doc.AppendJSON(nil), nil
}

// shows asks about a change's document; with style=all_docs about each leaf, and the change shows those that pass.
func (f *changeFilter) shows(q *request, c *layer.Change, query *changesQuery) (bool, error) {
	switch {
	case !f.needsDocs():
		return true, nil
	case query.allLeaves && len(c.Leaves) > 1:
		return f.filterLeaves(q, c)
	case c.Doc == nil:
		return false, nil
	}
	f.doc = c.Doc.AppendJSON(f.doc[:0])
	passed, err := f.passes(q, [][]byte{f.doc})
	return err == nil && passed[0], err
}

func (f *changeFilter) passes(q *request, docs [][]byte) ([]bool, error) {
	if f.selector == nil {
		passed, err := f.function.Filter(q.charged(), docs, f.req)
		if err != nil {
			return nil, filterFault(err)
		}
		return passed, nil
	}
	passed := make([]bool, len(docs))
	for i, doc := range docs {
		passed[i] = f.selector.Match(doc)
	}
	return passed, nil
}

func (f *changeFilter) filterLeaves(q *request, c *layer.Change) (bool, error) {
	const together = 256 << 10 // a function is asked about several leaves at once, where they are small
	var leaves, revs []layer.Rev
	var docs [][]byte
	size := 0
	ask := func() error {
		passed, err := f.passes(q, docs)
		for i, ok := range passed {
			if ok {
				leaves = append(leaves, revs[i])
			}
		}
		docs, revs, size = docs[:0], revs[:0], 0
		return err
	}
	for one, err := range q.db.EachOpenRev(q.ctx(), c.ID, c.Leaves, layer.GetOptions{}) {
		if err != nil {
			return false, err
		}
		if one.Doc == nil {
			continue
		}
		docs, revs = append(docs, one.Doc.AppendJSON(nil)), append(revs, one.Doc.Rev)
		if size += len(one.Doc.Body); size < together {
			continue
		}
		if err := ask(); err != nil {
			return false, err
		}
	}
	if len(docs) > 0 {
		if err := ask(); err != nil {
			return false, err
		}
	}
	c.Leaves = leaves
	return len(leaves) > 0, nil
}

// requestObject is the request as functions of design documents see it (chttpd_external:json_req_obj), as far as a
// function can use it.
func (q *request) requestObject() []byte {
	b := appendStringMember([]byte{'{'}, "method", q.r.Method)
	b = appendStrings(appendMember(b, "path"), q.path)
	b = appendStrings(appendMember(b, "requested_path"), q.path)
	b = appendStringMember(b, "raw_path", q.r.URL.RequestURI())
	b = append(appendMember(b, "query"), '{')
	for _, p := range q.params {
		b = appendStringMember(b, p.name, p.value)
	}
	b = append(b, '}')
	b = append(appendMember(b, "headers"), '{')
	b = appendStringMember(b, "Host", q.r.Host)
	for name, values := range q.r.Header {
		if name != "Authorization" && name != "Cookie" {
			b = appendStringMember(b, name, strings.Join(values, ", "))
		}
	}
	b = append(b, '}')
	b = appendStringMember(b, "body", "undefined")
	b = appendStringMember(b, "peer", q.r.RemoteAddr)
	b = append(b, `,"form":{},"cookie":{},"id":null`...)
	b = append(appendMember(b, "info"), `{"db_name":`...)
	b = append(appendString(b, q.path[0]), '}')
	b = append(appendMember(b, "userCtx"), `{"db":`...)
	b = appendString(b, q.path[0])
	b = append(b, `,"name":`...)
	if q.user.Name == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, q.user.Name)
	}
	b = appendStrings(append(b, `,"roles":`...), q.user.Roles)
	return append(b, "}}"...)
}

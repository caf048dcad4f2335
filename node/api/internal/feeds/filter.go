package feeds

import (
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/selector"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// changeFilter decides which changes a feed shows. The zero value shows all.
type changeFilter struct {
	// match checks an entry before anything else is read for it.
	match func(*layer.Change) bool
	// ids and only name the documents that can match, if they are few. Their old entries are looked up instead of
	// reading the whole feed.
	ids  []string
	only layer.Subset
	// selector and function check documents; at most one of them is set.
	selector *selector.Selector
	function *script.Filter
	req      []byte // CouchDB's request object, JSON
	doc      []byte // the current document; the buffer is reused
}

func (f *changeFilter) needsDocs() bool { return f.function != nil || f.selector != nil }

// changesFilter prepares the filter that the request names.
func (h *Handlers) changesFilter(q *call.Request, c *changesQuery) (f *changeFilter, err error) {
	switch {
	case c.filter == "":
		f = &changeFilter{}
	case c.filter == "_design":
		f = &changeFilter{match: func(c *layer.Change) bool { return strings.HasPrefix(c.ID, "_design/") },
			only: layer.DesignOnly}
	case c.filter == "_view":
		f, err = h.viewFilter(q)
	case c.filter == "_doc_ids":
		return docIDsFilter(q, c)
	case c.filter == "_selector":
		return selectorFilter(q, c)
	case c.filter[0] == '_':
		err = fault.BadRequest("unknown builtin filter name")
	default:
		return h.functionFilter(q, c)
	}
	if err != nil {
		return nil, err
	}
	_, err = postedBody(q) // it must be valid, although it has no effect
	q.Body.GiveBack()
	return f, err
}

// fewIDs is the number of documents up to which they are looked up instead of searched for in the feed.
const fewIDs = 1000

func docIDsFilter(q *call.Request, c *changesQuery) (*changeFilter, error) {
	if c.waits() {
		q.Body.WillKeep(idSetGuess)
	}
	list, err := docIDs(q)
	if err != nil {
		return nil, err
	}
	if err := q.Body.Parts(idSetCost(list)); err != nil {
		return nil, err
	}
	wanted, ok := newIDSet(list)
	if !ok {
		return nil, fault.BadRequest("`doc_ids` filter parameter is not a list of doc ids.")
	}
	q.Body.GiveBack()
	if err := keepFor(q, c, wanted.size()); err != nil {
		return nil, err
	}
	f := &changeFilter{match: func(c *layer.Change) bool { return wanted.has(c.ID) }}
	if wanted.len() <= fewIDs {
		f.ids = wanted.list()
	}
	return f, nil
}

// docIDs returns the list of ids: from the body of a POST, otherwise from the parameters.
func docIDs(q *call.Request) (gjson.Result, error) {
	if q.Method == http.MethodPost {
		body, err := postedBody(q)
		return decode.Member(body, "doc_ids"), err
	}
	list, err := q.Params.Json("doc_ids")
	if err != nil {
		return list, err
	}
	return list, q.Body.Reserve(int64(len(list.Raw)))
}

// keepFor reduces the memory that the request holds to the n bytes that the feed's filter keeps.
func keepFor(q *call.Request, c *changesQuery, n int64) error {
	if !c.waits() {
		q.Body.ShrinkParts(n)
		return nil
	}
	return q.Body.Keep(n)
}

// maxSelector is the maximum size of a selector, or of a body that a filter function sees, in bytes. Parsed, a selector
// takes up to selectorCost times its size.
const (
	maxSelector  = 1 << 20
	selectorCost = 24
)

// selectorFilter returns a Mango selector, with the fields of documents to show.
func selectorFilter(q *call.Request, c *changesQuery) (*changeFilter, error) {
	if q.Method != http.MethodPost {
		return nil, fault.BadRequest("Selector must be specified in POST payload")
	}
	if c.waits() {
		q.Body.WillKeep(func(size int64) int64 { return selectorCost * min(size, maxSelector) })
	}
	body, err := postedBody(q)
	if err != nil {
		return nil, err
	}
	if len(body.Raw) > maxSelector {
		return nil, &layer.Error{Kind: layer.TooLarge}
	}
	text := decode.Member(body, "selector")
	if !text.IsObject() {
		return nil, fault.BadRequest("Selector error: expected a JSON object")
	}
	cost := selectorCost * int64(len(body.Raw))
	if err := q.Body.Parts(cost); err != nil {
		return nil, err
	}
	parsed, err := selector.Parse([]byte(text.Raw))
	if fields := decode.Member(body, "fields"); err == nil && fields.Exists() {
		if !fields.IsArray() {
			return nil, fault.BadRequest("Selector error: fields must be JSON array")
		}
		c.render.Fields, err = selector.ParseFields(fields)
	}
	var wrong *selector.Error
	if errors.As(err, &wrong) {
		return nil, fault.BadRequest("%s", wrong.Reason)
	}
	if err != nil {
		return nil, err
	}
	q.Body.GiveBack()
	return &changeFilter{selector: parsed}, keepFor(q, c, cost+int64(parsed.Extra()))
}

// viewFilter shows the documents for which a view's map function emits rows.
func (h *Handlers) viewFilter(q *call.Request) (*changeFilter, error) {
	text := q.Params.Get("view", "")
	if text == "" {
		return nil, fault.BadRequest("`view` filter parameter is not provided.")
	}
	name, view, ok := cutName(text)
	if !ok {
		return nil, fault.BadRequest("`view` must be of the form `designname/viewname`")
	}
	design, source, err := h.designSource(q, name)
	if err != nil {
		return nil, err
	}
	_, def, ok := design.View(view)
	if !ok {
		return nil, fault.NotFound("missing json key: " + view)
	}
	function := script.Function{Name: "views." + view + ".map", Source: def.Map}
	f, err := h.Scripts.FilterByView(render.Charged(q), source, function)
	if err != nil {
		return nil, fault.NotCompiled(err)
	}
	req, err := render.RequestObject(q, render.ObjectOf{})
	return &changeFilter{function: f, req: req}, err
}

// functionFilter returns a filter function of a design document. It sees the posted body in its request object.
func (h *Handlers) functionFilter(q *call.Request, c *changesQuery) (*changeFilter, error) {
	name, function, ok := cutName(c.filter)
	if !ok {
		return nil, fault.BadRequest("`filter` must be of the form `designname/filtername`")
	}
	design, source, err := h.designSource(q, name)
	if err != nil {
		return nil, err
	}
	code, ok := design.Filters[function]
	if !ok {
		missing := function
		if design.Filters == nil {
			missing = "filters"
		}
		return nil, fault.NotFound("missing json key: " + missing)
	}
	f, err := h.Scripts.Filter(render.Charged(q), source, script.Function{Name: "filters." + function, Source: code})
	if err != nil {
		return nil, fault.NotCompiled(err)
	}
	if c.waits() {
		q.Body.WillKeep(func(size int64) int64 { return min(size, maxSelector) })
	}
	body, err := postedBody(q)
	if err != nil {
		return nil, err
	}
	if len(body.Raw) > maxSelector {
		return nil, &layer.Error{Kind: layer.TooLarge}
	}
	req, err := render.RequestObject(q, render.ObjectOf{Body: []byte(body.Raw)})
	if err != nil {
		return nil, err
	}
	q.Body.GiveBack()
	return &changeFilter{function: f, req: req}, keepFor(q, c, int64(len(body.Raw)))
}

// cutName splits designname/functionname.
func cutName(text string) (design, function string, ok bool) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' })
	if len(parts) != 2 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// designSource reads a design document, both parsed and as the JSON that its functions see as `this`.
func (h *Handlers) designSource(q *call.Request, name string) (*layer.Design, []byte, error) {
	if h.Scripts == nil {
		return nil, nil, &layer.Error{Kind: layer.NotImplemented}
	}
	design, err := q.DB.Design(q.Ctx(), name)
	if err != nil {
		return nil, nil, err
	}
	doc, err := q.DB.Get(q.Ctx(), design.ID, layer.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	return design, doc.AppendJSON(nil), nil
}

// shows checks a change's document. With style=all_docs it checks each leaf, and the change shows the leaves that pass.
func (f *changeFilter) shows(q *call.Request, c *layer.Change, query *changesQuery) (bool, error) {
	switch {
	case !f.needsDocs():
		return true, nil
	case query.allLeaves && len(c.Leaves) > 1:
		return f.filterLeaves(q, c)
	case c.Doc == nil:
		return false, nil
	}
	f.doc = f.appendDoc(f.doc[:0], c.Doc)
	passed, err := f.passes(q, [][]byte{f.doc})
	return err == nil && passed[0], err
}

// appendDoc appends a document as the filter sees it. As in CouchDB, functions are told its revision in _revisions too.
func (f *changeFilter) appendDoc(dst []byte, doc *layer.Document) []byte {
	if f.function == nil {
		return doc.AppendJSON(dst)
	}
	seen := *doc
	seen.Revs = []layer.Rev{doc.Rev}
	return seen.AppendJSON(dst)
}

func (f *changeFilter) passes(q *call.Request, docs [][]byte) ([]bool, error) {
	if f.selector == nil {
		passed, err := f.function.Filter(render.Charged(q), docs, f.req)
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

func (f *changeFilter) filterLeaves(q *call.Request, c *layer.Change) (bool, error) {
	const together = 256 << 10 // a function gets several small leaves in one call
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
	for one, err := range q.DB.EachOpenRev(q.Ctx(), c.ID, c.Leaves, layer.GetOptions{}) {
		if err != nil {
			return false, err
		}
		if one.Doc == nil {
			continue
		}
		docs, revs = append(docs, f.appendDoc(nil, one.Doc)), append(revs, one.Doc.Rev)
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

package rows

import (
	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Listed is a query of a view, or of _all_docs, whose rows a list function gets.
type Listed struct {
	h     *Handlers
	q     *call.Request
	view  viewRequest
	query rowsQuery
	docs  bool // _all_docs
}

// maxListedRow bounds a row with its document and attachments, in bytes: the list function's memory is bounded too.
const maxListedRow = 64 << 20

// Listed reads the parameters of a request for a list function. The view is one of the design document, or _all_docs.
// body is the object that was posted, if there was one.
func (h *Handlers) Listed(q *call.Request, design, view string, body gjson.Result) (*Listed, error) {
	l := &Listed{h: h, q: q, docs: view == "_all_docs", query: newRowsQuery()}
	l.view.index.Indexer = h.Indexer
	var err error
	if l.view.index.Design, err = q.DB.Design(q.Ctx(), design); err != nil {
		return nil, err
	}
	if !l.docs {
		var ok bool
		if _, l.view.def, ok = l.view.index.Design.View(view); !ok {
			return nil, fault.NotFound("missing_named_view")
		}
	}
	if body.IsObject() {
		if err := l.query.takeBody(body, !l.docs); err != nil {
			return nil, err
		}
	}
	if err := l.query.takeParams(q.Params, !l.docs); err != nil {
		return nil, err
	}
	if l.docs {
		return l, checkAllDocs(q, &l.query)
	}
	return l, l.view.check(q, &l.query)
}

// Run passes the rows to the Taker and returns the first error, also the Taker's.
func (l *Listed) Run(to Taker) error {
	s := call.Hold(l.q, maxListedRow, &layer.Error{Kind: layer.TooLarge})
	defer s.Drop()
	w := &rowWriter{s: s, to: to}
	if l.docs {
		return writeAllDocs(w, &l.query)
	}
	if _, err := l.view.index.Prepare(l.q, l.query.update); err != nil {
		return err
	}
	return l.h.writeView(w, &l.view, &l.query)
}

package functions

import (
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// Update answers any method of .../_update/{function}, with a document if the path goes on. The document that the
// function returns is written like one that the user sent.
func (h *Handlers) Update(q *call.Request) error {
	switch {
	case q.Part(4) == "":
		return &fault.Fault{Status: 404, Name: "update_error", Reason: "Invalid path."}
	case q.Method == http.MethodGet || q.Method == http.MethodHead:
		return &fault.Fault{Status: http.StatusMethodNotAllowed, Name: "method_not_allowed",
			Reason: "Update functions do not allow GET"}
	}
	d, err := h.design(q)
	if err != nil {
		return err
	}
	f, err := h.function(q, d, "updates", q.Path[4])
	if err != nil {
		return err
	}
	id, _, text, err := h.document(q, 5)
	if err != nil {
		return err
	}
	req, err := requestObject(q, id)
	if err != nil {
		return err
	}
	out, err := f.Update(render.Charged(q), text, req)
	items, err := functionResult(out, err, "render_error")
	if err != nil {
		return err
	}
	r, err := parseResponse(items[2])
	if err != nil {
		return err
	}
	if items[1].IsObject() {
		if err := h.store(q, []byte(items[1].Raw), r); err != nil {
			return err
		}
	}
	return r.send(q)
}

// store writes the document and says in the response what was written.
func (h *Handlers) store(q *call.Request, text []byte, r *response) error {
	e, err := layer.ParseEdit(text, false)
	if err != nil {
		return err
	}
	if e.ID == "" {
		return &layer.Error{Kind: layer.Invalid, Name: "illegal_docid", Reason: "Document id must not be empty"}
	}
	rev, err := h.Docs.Write(q, e)
	if err != nil {
		return err
	}
	if !r.hasCode {
		r.code = http.StatusCreated
	}
	r.set("X-Couch-Update-NewRev", rev.String())
	r.set("X-Couch-Id", call.Escape(e.ID))
	return nil
}

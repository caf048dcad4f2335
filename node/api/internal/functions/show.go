package functions

import (
	"crypto/md5"
	"fmt"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// Show answers any method of .../_show/{function}, with a document if the path goes on.
func (h *Handlers) Show(q *call.Request) error {
	if q.Part(4) == "" {
		return &fault.Fault{Status: 404, Name: "show_error", Reason: "Invalid path."}
	}
	d, err := h.design(q)
	if err != nil {
		return err
	}
	f, err := h.function(q, d, "shows", q.Path[4])
	if err != nil {
		return err
	}
	id, doc, text, err := h.document(q, 5)
	if err != nil {
		return err
	}
	etag := showTag(q, d, doc)
	if q.NotModified(etag) {
		return nil
	}
	req, err := requestObject(q, id)
	if err != nil {
		return err
	}
	out, err := f.Show(render.Charged(q), text, req)
	items, err := functionResult(out, err, "render_error")
	if err != nil {
		return err
	}
	r, err := parseResponse(items[1])
	if err != nil {
		return err
	}
	r.set("ETag", etag)
	r.set("Vary", "Accept")
	return r.send(q)
}

// showTag returns an ETag for all that a show function should depend on, as in CouchDB: the design document, the
// document, what the client accepts and its roles.
func showTag(q *call.Request, d *design, doc *layer.Document) string {
	rev := ""
	if doc != nil {
		rev = doc.ID + " " + doc.Rev.String()
	}
	text := strings.Join([]string{d.rev.String(), rev, q.R.Header.Get("Accept"), strings.Join(q.User.Roles, ",")}, "\n")
	return fmt.Sprintf(`"%x"`, md5.Sum([]byte(text)))
}

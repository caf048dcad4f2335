package functions

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// List answers GET and POST of .../_list/{function}/{view} and .../_list/{function}/{ddoc}/{view}.
func (h *Handlers) List(q *call.Request) error {
	design, view := q.Part(2), q.Part(5)
	switch {
	case len(q.Path) == 7:
		design, view = q.Path[5], q.Path[6]
	case len(q.Path) != 6:
		return &fault.Fault{Status: 404, Name: "list_error", Reason: "Invalid path."}
	}
	d, err := h.design(q)
	if err != nil {
		return err
	}
	f, err := h.function(q, d, "lists", q.Path[4])
	if err != nil {
		return err
	}
	var of render.ObjectOf
	var body gjson.Result
	if q.Method == http.MethodPost {
		if body, err = q.PostedObject(); err != nil {
			return err
		}
		if err := q.Body.Parts(int64(keyCost * decode.Elements(decode.Member(body, "keys")))); err != nil {
			return err
		}
		of.Body = []byte(body.Raw)
	}
	listed, err := h.Rows.Listed(q, design, view, body)
	if err != nil {
		return err
	}
	req, err := render.RequestObject(q, of)
	if err != nil {
		return err
	}
	p := newPipe(q)
	defer p.stream.Drop()
	return p.run(listed.Run, func(head []byte) error {
		out, err := f.List(render.Charged(q), head, req, p)
		_, err = functionResult(out, err, "render_error")
		return err
	})
}

// keyCost is the memory for each requested key, in addition to its text.
const keyCost = 128

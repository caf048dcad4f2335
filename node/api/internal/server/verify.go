package server

import (
	"encoding/json"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Verify answers POST /_verify {"database": NAME, "digests": BOOL}, or {} for all databases. It reads every block of
// the store's files and every row, and compares them, however long that takes. The response is lines, each an object
// with one member:
//
//	{"progress": {"bytes": .., "total": .., "rows": .., "step": ..}}  from time to time
//	{"damage": {"what": .., "database": .., ..}}                      for each fault (layer.Damage)
//	{"done": {"files": .., "rows": .., "faults": ..}}                 the last line, if everything was read:
//	                                                                  layer.Verified
//
// A response without the last line was interrupted, and may end with an error object.
func (h *Handlers) Verify(q *call.Request) error {
	o := layer.VerifyOptions{}
	if q.R.ContentLength != 0 {
		body, err := q.Body.Object()
		if err != nil {
			return err
		}
		switch name := decode.Member(body, "database"); {
		case name.Type == gjson.String:
			o.Database = name.Str
		case name.Exists():
			return fault.BadRequest("database must be the name of a database")
		}
		o.Digests = decode.Member(body, "digests").Type == gjson.True
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	line := func(member string, value any) error {
		text, err := json.Marshal(map[string]any{member: value})
		if err != nil {
			return err
		}
		s.Buf = append(append(s.Buf, text...), '\n')
		return s.Flush()
	}
	o.Progress = func(p layer.VerifyProgress) error { return line("progress", p) }
	o.Damage = func(d *layer.Damage) error { return line("damage", d) }
	done, err := h.Store.Verify(q.Ctx(), o)
	if err != nil && !s.Sent {
		return err
	}
	if err != nil {
		h.Log.Error("the store could not be verified", "error", err)
		s.Buf = append(fault.Of(err).Append(append(s.Buf, '{')), "}\n"...)
		return s.End()
	}
	if done.Faults > 0 {
		h.Log.Error("the store was verified, and is damaged", "faults", done.Faults)
	}
	if err := line("done", done); err != nil {
		return err
	}
	return s.End()
}

package api

import (
	"encoding/json"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// verify answers POST /_verify {"database": NAME, "digests": BOOL}, or {} for all: it reads every block of the store's
// files and every row, compares them, which takes as long as that takes, and tells of it in lines. Each is an object with one member:
//
//	{"progress": {"bytes": .., "total": .., "rows": .., "step": ..}}  now and then
//	{"damage": {"what": .., "database": .., ..}}                      for each fault (layer.Damage)
//	{"done": {"files": .., "rows": .., "faults": ..}}                 the last one, where all was read (layer.Verified)
//
// An answer without the last line broke off: what comes in its place is an error object, where there is one.
func (q *request) verify() error {
	o := layer.VerifyOptions{}
	if q.r.ContentLength != 0 {
		body, err := q.objectBody()
		if err != nil {
			return err
		}
		switch name := member(body, "database"); {
		case name.Type == gjson.String:
			o.Database = name.Str
		case name.Exists():
			return badRequest("database has to be the name of a database")
		}
		o.Digests = member(body, "digests").Type == gjson.True
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	line := func(member string, value any) error {
		text, err := json.Marshal(map[string]any{member: value})
		if err != nil {
			return err
		}
		s.buf = append(append(s.buf, text...), '\n')
		return s.flush()
	}
	o.Progress = func(p layer.VerifyProgress) error { return line("progress", p) }
	o.Damage = func(d *layer.Damage) error { return line("damage", d) }
	done, err := q.srv.o.Store.Verify(q.ctx(), o)
	if err != nil && !s.sent {
		return err
	}
	if err != nil {
		q.srv.log.Error("the store could not be verified", "error", err)
		s.buf = append(faultOf(err).append(append(s.buf, '{')), "}\n"...)
		return s.end()
	}
	if done.Faults > 0 {
		q.srv.log.Error("the store was verified, and is damaged", "faults", done.Faults)
	}
	if err := line("done", done); err != nil {
		return err
	}
	return s.end()
}

package databases

import (
	"crypto/md5"
	"fmt"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
	"github.com/divandb/divan/node/api/internal/rows"
)

// AllDatabases answers GET /_all_dbs.
func (h *Handlers) AllDatabases(q *call.Request) error {
	return h.eachName(q, func(s *call.Stream, name string) error {
		s.Buf = jsontext.AppendQuoted(s.Buf, name)
		return nil
	})
}

// AllDatabaseInfos answers GET /_dbs_info.
func (h *Handlers) AllDatabaseInfos(q *call.Request) error {
	return h.eachName(q, func(s *call.Stream, name string) error { return h.writeInfo(s, name) })
}

// eachName writes an array with one element for each database that the parameters select. If it is sent in one piece,
// it has an ETag.
func (h *Handlers) eachName(q *call.Request, element func(s *call.Stream, name string) error) error {
	ranges, err := rows.NamesOptions(q)
	if err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, '[')
	first := true
	for _, o := range ranges {
		for name, err := range h.Store.Names(q.Ctx(), o) {
			if err != nil {
				return err
			}
			s.Separate(&first)
			if err := element(s, name); err != nil {
				return err
			}
			if err := s.Full(); err != nil {
				return err
			}
		}
	}
	s.Buf = append(s.Buf, ']', '\n')
	if !s.Sent && q.NotModified(fmt.Sprintf(`"%x"`, md5.Sum(s.Buf))) {
		return nil
	}
	return s.End()
}

// writeInfo writes a database's info, or an error if it does not exist.
func (h *Handlers) writeInfo(s *call.Stream, name string) error {
	s.Buf = encode.StringMember(append(s.Buf, '{'), "key", name)
	db, err := h.Store.Database(s.Q.Ctx(), name)
	var info layer.Info
	if err == nil {
		info, err = db.Info(s.Q.Ctx())
	}
	switch {
	case err == nil:
		s.Buf = append(render.Info(encode.Member(s.Buf, "info"), &info), '}')
	case layer.KindOf(err) == layer.NotFound, layer.KindOf(err) == layer.Invalid:
		s.Buf = append(s.Buf, `,"error":"not_found"}`...)
	default:
		return err
	}
	return nil
}

// maxInfos is the maximum number of databases in one POST /_dbs_info.
const maxInfos = 100

// DatabaseInfos answers POST /_dbs_info {"keys": [...]}.
func (h *Handlers) DatabaseInfos(q *call.Request) error {
	body, err := q.PostedObject()
	if err != nil {
		return err
	}
	keys := decode.Member(body, "keys")
	switch {
	case !keys.Exists():
		return fault.BadRequest("`keys` member must exist.")
	case !keys.IsArray():
		return fault.BadRequest("`keys` member must be an array.")
	case decode.Elements(keys) > h.Settings.Int("chttpd", "max_db_number_for_dbs_info_req", maxInfos):
		return fault.BadRequest("too_many_keys")
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, '[')
	first := true
	keys.ForEach(func(_, key gjson.Result) bool {
		s.Separate(&first)
		if err = h.writeInfo(s, key.String()); err == nil {
			err = s.Full()
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, ']', '\n')
	return s.End()
}

package api

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// namesOptions turns the parameters of _all_dbs into the layer's terms.
func (q *request) namesOptions() (o layer.NamesOptions, nothing bool, err error) {
	r := newRowsQuery()
	if err := r.takeParams(q.params, false); err != nil {
		return o, false, err
	}
	o = layer.NamesOptions{ExcludeEnd: r.excludeEnd, Descending: r.descending, Limit: r.limit, Skip: r.skip}
	start, none := boundary(r.startKey, "", r.descending)
	end, noneAtEnd := boundary(r.endKey, "", !r.descending)
	if start != nil {
		o.Start = *start
	}
	if end != nil {
		o.End = *end
	}
	return o, none || noneAtEnd, nil
}

// allDatabases answers GET /_all_dbs.
func (q *request) allDatabases() error {
	return q.eachName(func(s *stream, name string) error {
		s.buf = appendString(s.buf, name)
		return nil
	})
}

// allDatabaseInfos answers GET /_dbs_info.
func (q *request) allDatabaseInfos() error {
	return q.eachName(func(s *stream, name string) error { return s.databaseInfo(name) })
}

// eachName writes an array with an element for each database that the parameters select.
func (q *request) eachName(element func(s *stream, name string) error) error {
	o, nothing, err := q.namesOptions()
	if err != nil {
		return err
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, '[')
	first := true
	if !nothing {
		for name, err := range q.srv.o.Store.Names(q.ctx(), o) {
			if err != nil {
				return err
			}
			if !first {
				s.buf = append(s.buf, ',')
			}
			first = false
			if err := element(s, name); err != nil {
				return err
			}
			if err := s.full(); err != nil {
				return err
			}
		}
	}
	s.buf = append(s.buf, ']', '\n')
	return s.end()
}

// databaseInfo writes a database's figures, or that there is none of that name.
func (s *stream) databaseInfo(name string) error {
	s.buf = appendStringMember(append(s.buf, '{'), "key", name)
	db, err := s.q.srv.o.Store.Database(s.q.ctx(), name)
	var info layer.Info
	if err == nil {
		info, err = db.Info(s.q.ctx())
	}
	switch {
	case err == nil:
		s.buf = append(s.q.srv.appendInfo(appendMember(s.buf, "info"), &info), '}')
	case layer.KindOf(err) == layer.NotFound, layer.KindOf(err) == layer.Invalid:
		s.buf = append(s.buf, `,"error":"not_found"}`...)
	default:
		return err
	}
	return nil
}

// maxInfos is how many databases one POST /_dbs_info may ask for.
const maxInfos = 100

// databaseInfos answers POST /_dbs_info {"keys": [...]}.
func (q *request) databaseInfos() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	body, err := q.objectBody()
	if err != nil {
		return err
	}
	keys := member(body, "keys")
	switch {
	case !keys.Exists():
		return badRequest("`keys` member must exist.")
	case !keys.IsArray():
		return badRequest("`keys` member must be an array.")
	case elements(keys) > q.srv.o.Settings.Int("chttpd", "max_db_number_for_dbs_info_req", maxInfos):
		return badRequest("too_many_keys")
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, '[')
	first := true
	keys.ForEach(func(_, key gjson.Result) bool {
		if !first {
			s.buf = append(s.buf, ',')
		}
		first = false
		if err = s.databaseInfo(key.String()); err == nil {
			err = s.full()
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	s.buf = append(s.buf, ']', '\n')
	return s.end()
}

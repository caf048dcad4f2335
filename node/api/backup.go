package api

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// backup answers POST /_backup {"directory": NAME}: 201 with the whole path, once the copy is on disk.
func (q *request) backup() error {
	if q.srv.o.Backups == nil {
		return &layer.Error{Kind: layer.NotImplemented}
	}
	body, err := q.objectBody()
	if err != nil {
		return err
	}
	name := member(body, "directory")
	if name.Type != gjson.String || name.Str == "" {
		return badRequest(`directory is missing: say {"directory": "NAME"}`)
	}
	dir, err := q.srv.o.Backups.Backup(q.ctx(), name.Str)
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusCreated, append(appendStringMember([]byte(`{"ok":true`), "directory", dir), '}'))
}

package server

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Backup answers POST /_backup {"directory": NAME}: 201 with the full path, once the backup is on disk.
func (h *Handlers) Backup(q *call.Request) error {
	if h.Backups == nil {
		return &layer.Error{Kind: layer.NotImplemented}
	}
	body, err := q.PostedObject()
	if err != nil {
		return err
	}
	name := decode.Member(body, "directory")
	if name.Type != gjson.String || name.Str == "" {
		return fault.BadRequest(`directory is missing: say {"directory": "NAME"}`)
	}
	dir, err := h.Backups.Backup(q.Ctx(), name.Str)
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusCreated, append(encode.StringMember([]byte(`{"ok":true`), "directory", dir), '}'))
}

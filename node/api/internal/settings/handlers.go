package settings

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Handlers answer requests for settings: /_node/{name}/_config. Changes hold on all nodes.
type Handlers struct {
	Settings *Settings
	Admins   Admins // nil: admins cannot be changed here
	// Changed, if set, is called after each change of a value. It must not block.
	Changed func(section, key, user string)
}

// Admins changes server admins at run time: PUT and DELETE /_node/{name}/_config/admins/{user}.
type Admins interface {
	// Admins maps names to stored hashes.
	Admins() map[string]string
	// SetAdmin adds or changes an admin. password is plain text or a stored hash. SetAdmin returns the stored hash.
	SetAdmin(ctx context.Context, name, password string) (hash string, err error)
	DeleteAdmin(ctx context.Context, name string) error
}

// Config answers GET /_node/{name}/_config.
func (h *Handlers) Config(q *call.Request) error {
	sections := h.Settings.Sections()
	if a := h.Admins; a != nil {
		sections["admins"] = a.Admins()
	}
	b := []byte{'{'}
	for name, values := range sections {
		b = appendSection(encode.Member(b, name), values)
	}
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

// ConfigSection answers GET of a section.
func (h *Handlers) ConfigSection(q *call.Request) error {
	if q.Part(3) == "admins" && h.Admins != nil {
		return q.SendJSON(http.StatusOK, appendSection(nil, h.Admins.Admins()))
	}
	return q.SendJSON(http.StatusOK, appendSection(nil, h.Settings.Section(q.Part(3))))
}

// configured returns the current value of the path's section and key.
func (h *Handlers) configured(q *call.Request) (value string, ok bool) {
	if q.Part(3) == "admins" && h.Admins != nil {
		value, ok = h.Admins.Admins()[q.Part(4)]
		return value, ok
	}
	value, ok = h.Settings.Get(q.Part(3), q.Part(4))
	return hidden(q.Part(3), q.Part(4), value), ok
}

// ConfigValue answers GET of a value.
func (h *Handlers) ConfigValue(q *call.Request) error {
	value, ok := h.configured(q)
	if !ok {
		return fault.NotFound("unknown_config_value")
	}
	return q.SendJSON(http.StatusOK, jsontext.AppendQuoted(nil, value))
}

// SetConfigValue sets a value and answers with the former one. An admin's password is stored as a hash.
func (h *Handlers) SetConfigValue(q *call.Request) error {
	if err := openSection(q); err != nil {
		return err
	}
	section, key := q.Part(3), q.Part(4)
	admin := section == "admins" && h.Admins != nil
	if !admin { // checked before the body is read
		if err := h.Settings.Changeable(section, key); err != nil {
			return err
		}
	}
	body, err := q.Body.Json()
	if err != nil {
		return err
	}
	if body.Type != gjson.String {
		return fault.BadRequest("a JSON string expected")
	}
	value := strings.TrimSpace(body.Str)
	old, _ := h.configured(q)
	if admin {
		if _, err := h.Admins.SetAdmin(q.Ctx(), key, value); err != nil {
			return err
		}
	} else if _, err := h.Settings.Set(q.Ctx(), section, key, value); err != nil {
		return err
	}
	h.changed(q)
	return q.SendJSON(http.StatusOK, jsontext.AppendQuoted(nil, old))
}

// changed reports a change of the value that a request names.
func (h *Handlers) changed(q *call.Request) {
	if h.Changed != nil {
		h.Changed(q.Part(3), q.Part(4), q.User.Name)
	}
}

// openSection returns an error for the sections that CouchDB does not let clients change.
func openSection(q *call.Request) error {
	if slices.Contains(closedSections, q.Part(3)) {
		return errClosedSection
	}
	return nil
}

// DeleteConfigValue restores the value in node.yaml, and answers with the former one.
func (h *Handlers) DeleteConfigValue(q *call.Request) error {
	if err := openSection(q); err != nil {
		return err
	}
	old, ok := h.configured(q)
	if !ok {
		return fault.NotFound("unknown_config_value")
	}
	section, key := q.Part(3), q.Part(4)
	if section == "admins" && h.Admins != nil {
		if err := h.Admins.DeleteAdmin(q.Ctx(), key); err != nil {
			return err
		}
	} else if _, err := h.Settings.Delete(q.Ctx(), section, key); err != nil {
		return err
	}
	h.changed(q)
	return q.SendJSON(http.StatusOK, jsontext.AppendQuoted(nil, old))
}

// closedSections are the sections that CouchDB does not let clients change over HTTP.
var closedSections = []string{"daemons", "external", "feature_flags", "httpd_design_handlers", "httpd_db_handlers",
	"httpd_global_handlers", "native_query_servers", "os_daemons", "query_servers"}

var errClosedSection = &fault.Fault{
	Status: http.StatusForbidden, Name: "forbidden",
	Reason: "Config section blacklisted for modification over HTTP API.",
}

package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// nodeEndpoints are /_node/{name}/...: `_local` and this node's own name are this node. Options belong to one node (settings.go).
func nodeEndpoints() []tail {
	here := func(h handler) handler {
		return func(q *request) error {
			if name := q.part(1); name != "_local" && name != q.srv.o.Node {
				return notFound("no such node: " + name)
			}
			return h(q)
		}
	}
	read := func(a access, h handler) endpoint { return endpoint{allow: "GET", access: a, get: here(h)} }
	return []tail{
		{nil, everyMethod(serverAdmin, refuse(badRequest("Incomplete path to _node request")))},
		{[]string{"*"}, read(serverAdmin, (*request).nodeName)},
		{[]string{"*", "_config"}, read(serverAdmin, (*request).config)},
		{[]string{"*", "_config", "_reload"}, endpoint{allow: "POST", access: serverAdmin, post: here(func(q *request) error { return q.sendOK(http.StatusOK) })}},
		{[]string{"*", "_config", "*"}, read(serverAdmin, (*request).configSection)},
		{[]string{"*", "_config", "*", "*"}, endpoint{
			allow: "GET,PUT,DELETE", access: serverAdmin, limit: atMost(maxConfigBody),
			get: here((*request).configValue), put: here((*request).setConfigValue), delete: here((*request).deleteConfigValue),
		}},
		{[]string{"*", "_stats", "..."}, read(metricsReader, (*request).nodeStats)},
		{[]string{"*", "_system"}, read(metricsReader, (*request).nodeSystem)},
		{[]string{"*", "_versions"}, read(serverAdmin, (*request).nodeVersions)},
		{[]string{"*", "_prometheus"}, read(metricsReader, (*request).metrics)},
	}
}

func (q *request) nodeName() error {
	return q.sendJSON(http.StatusOK, append(appendStringMember([]byte{'{'}, "name", q.srv.o.Node), '}'))
}

func (q *request) config() error {
	sections := q.srv.o.Settings.Sections()
	if a := q.srv.o.Admins; a != nil {
		sections["admins"] = a.Admins()
	}
	b := []byte{'{'}
	for name, values := range sections {
		b = appendSection(appendMember(b, name), values)
	}
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

func (q *request) configSection() error {
	if q.part(3) == "admins" && q.srv.o.Admins != nil {
		return q.sendJSON(http.StatusOK, appendSection(nil, q.srv.o.Admins.Admins()))
	}
	return q.sendJSON(http.StatusOK, appendSection(nil, q.srv.o.Settings.Section(q.part(3))))
}

// configured is the present value of the path's section and key.
func (q *request) configured() (value string, ok bool) {
	if q.part(3) == "admins" && q.srv.o.Admins != nil {
		value, ok = q.srv.o.Admins.Admins()[q.part(4)]
		return value, ok
	}
	return q.srv.o.Settings.Get(q.part(3), q.part(4))
}

func (q *request) configValue() error {
	value, ok := q.configured()
	if !ok {
		return notFound("unknown_config_value")
	}
	return q.sendJSON(http.StatusOK, appendString(nil, value))
}

// setConfigValue stores a value and answers the former one. An admin's password is stored as a hash.
func (q *request) setConfigValue() error {
	if err := q.openSection(); err != nil {
		return err
	}
	section, key := q.part(3), q.part(4)
	admin := section == "admins" && q.srv.o.Admins != nil
	if !admin && !q.srv.o.Settings.Known(section, key) { // said before the body is asked for
		return errUnknownSetting
	}
	body, err := q.jsonBody()
	if err != nil {
		return err
	}
	if body.Type != gjson.String {
		return badRequest("a JSON string expected")
	}
	value := strings.TrimSpace(body.Str)
	old, _ := q.configured()
	if admin {
		if _, err := q.srv.o.Admins.SetAdmin(key, value); err != nil {
			return err
		}
	} else if _, err := q.srv.o.Settings.Set(section, key, value); err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, appendString(nil, old))
}

// openSection refuses to change the sections that CouchDB keeps closed.
func (q *request) openSection() error {
	if slices.Contains(closedSections, q.part(3)) {
		return errClosedSection
	}
	return nil
}

func (q *request) deleteConfigValue() error {
	if err := q.openSection(); err != nil {
		return err
	}
	old, ok := q.configured()
	if !ok {
		return notFound("unknown_config_value")
	}
	section, key := q.part(3), q.part(4)
	if section == "admins" && q.srv.o.Admins != nil {
		if err := q.srv.o.Admins.DeleteAdmin(key); err != nil {
			return err
		}
	} else if _, _, err := q.srv.o.Settings.Delete(section, key); err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, appendString(nil, old))
}

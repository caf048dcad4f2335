package api

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// nodeEndpoints returns the endpoints of /_node/{name}/..., where name is `_local` or that of a member. Options are
// those of all nodes. Measurements of another member are fetched from it.
func (s *Server) nodeEndpoints() []tail {
	// with uses one handler for this node, and another one for other members.
	with := func(here, elsewhere handler) handler {
		return func(q *call.Request) error {
			name := q.Part(1)
			switch {
			case name == "_local" || name == s.o.Node:
				return here(q)
			case s.server.IsMember(q, name):
				return elsewhere(q)
			}
			return fault.NotFound("no such node: " + name)
		}
	}
	every := func(h handler) handler { return with(h, h) }
	read := func(a access, h handler) endpoint { return endpoint{allow: "GET", access: a, get: every(h)} }
	measured := func(a access, h handler) endpoint {
		return endpoint{allow: "GET", access: a, get: with(h, s.server.NodeElsewhere)}
	}
	return []tail{
		{nil, everyMethod(serverAdmin, refuse(fault.BadRequest("Incomplete path to _node request")))},
		{[]string{"*"}, read(serverAdmin, s.server.NodeName)},
		{[]string{"*", "_config"}, read(serverAdmin, s.config.Config)},
		{[]string{"*", "_config", "_reload"}, endpoint{allow: "POST", access: serverAdmin,
			post: every(func(q *call.Request) error { return q.SendOK(http.StatusOK) })}},
		{[]string{"*", "_config", "*"}, read(serverAdmin, s.config.ConfigSection)},
		{[]string{"*", "_config", "*", "*"}, endpoint{
			allow: "GET,PUT,DELETE", access: serverAdmin, limit: s.atMost(maxConfigBody),
			get: every(s.config.ConfigValue), put: every(s.config.SetConfigValue),
			delete: every(s.config.DeleteConfigValue),
		}},
		{[]string{"*", "_stats", "..."}, measured(metricsReader, s.server.NodeStats)},
		{[]string{"*", "_system"}, measured(metricsReader, s.server.NodeSystem)},
		{[]string{"*", "_versions"}, measured(serverAdmin, s.server.NodeVersions)},
		{[]string{"*", "_prometheus"}, measured(metricsReader, s.server.GetMetrics)},
	}
}

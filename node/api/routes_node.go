package api

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// nodeEndpoints returns the endpoints of /_node/{name}/..., where name is `_local` or that of a member. Requests for
// another member are passed on to it with the caller's rights, which both nodes check. Changes of options hold on all
// nodes, but their first values, and so what is shown of them, are those of each node's node.yaml.
func (s *Server) nodeEndpoints() []tail {
	at := func(here handler) handler {
		return func(q *call.Request) error {
			name := q.Part(1)
			switch {
			case name == "_local" || name == s.o.Node:
				return here(q)
			case s.server.IsMember(q, name):
				return s.server.NodeElsewhere(q)
			}
			return fault.NotFound("no such node: " + name)
		}
	}
	get := func(a access, h handler) endpoint { return endpoint{allow: "GET", access: a, get: at(h)} }
	return []tail{
		{nil, everyMethod(serverAdmin, refuse(fault.BadRequest("Incomplete path to _node request")))},
		{[]string{"*"}, get(serverAdmin, s.server.NodeName)},
		{[]string{"*", "_config"}, get(serverAdmin, s.config.Config)},
		{[]string{"*", "_config", "_reload"}, endpoint{allow: "POST", access: serverAdmin,
			limit: s.atMost(maxConfigBody), post: at(func(q *call.Request) error { return q.SendOK(http.StatusOK) })}},
		{[]string{"*", "_config", "*"}, get(serverAdmin, s.config.ConfigSection)},
		{[]string{"*", "_config", "*", "*"}, endpoint{
			allow: "GET,PUT,DELETE", access: serverAdmin, limit: s.atMost(maxConfigBody),
			get: at(s.config.ConfigValue), put: at(s.config.SetConfigValue), delete: at(s.config.DeleteConfigValue),
		}},
		{[]string{"*", "_stats", "..."}, get(metricsReader, s.server.NodeStats)},
		{[]string{"*", "_system"}, get(metricsReader, s.server.NodeSystem)},
		{[]string{"*", "_versions"}, get(serverAdmin, s.server.NodeVersions)},
		{[]string{"*", "_prometheus"}, get(metricsReader, s.server.GetMetrics)},
	}
}

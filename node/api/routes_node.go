package api

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// nodeEndpoints returns the endpoints of /_node/{name}/..., where name is `_local` or this node's own name. Options
// belong to one node.
func (s *Server) nodeEndpoints() []tail {
	here := func(h handler) handler {
		return func(q *call.Request) error {
			if name := q.Part(1); name != "_local" && name != s.o.Node {
				return fault.NotFound("no such node: " + name)
			}
			return h(q)
		}
	}
	read := func(a access, h handler) endpoint { return endpoint{allow: "GET", access: a, get: here(h)} }
	return []tail{
		{nil, everyMethod(serverAdmin, refuse(fault.BadRequest("Incomplete path to _node request")))},
		{[]string{"*"}, read(serverAdmin, s.server.NodeName)},
		{[]string{"*", "_config"}, read(serverAdmin, s.config.Config)},
		{[]string{"*", "_config", "_reload"}, endpoint{allow: "POST", access: serverAdmin,
			post: here(func(q *call.Request) error { return q.SendOK(http.StatusOK) })}},
		{[]string{"*", "_config", "*"}, read(serverAdmin, s.config.ConfigSection)},
		{[]string{"*", "_config", "*", "*"}, endpoint{
			allow: "GET,PUT,DELETE", access: serverAdmin, limit: s.atMost(maxConfigBody),
			get: here(s.config.ConfigValue), put: here(s.config.SetConfigValue),
			delete: here(s.config.DeleteConfigValue),
		}},
		{[]string{"*", "_stats", "..."}, read(metricsReader, s.server.NodeStats)},
		{[]string{"*", "_system"}, read(metricsReader, s.server.NodeSystem)},
		{[]string{"*", "_versions"}, read(serverAdmin, s.server.NodeVersions)},
		{[]string{"*", "_prometheus"}, read(metricsReader, s.server.GetMetrics)},
	}
}

package api

import (
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// partition answers everything under /{db}/_partition. A request for a partition is the same request without the first
// two segments and with a parameter that names the partition (chttpd_db:handle_partition_req).
func (s *Server) partition(q *call.Request) error {
	switch {
	case len(q.Path) == 2:
		return fault.BadRequest("invalid_partition_req")
	case len(q.Path) == 3:
		return s.databases.PartitionInfo(q)
	}
	partitioned, err := q.DB.IsPartitioned(q.Ctx())
	if err != nil {
		return err
	}
	if !partitioned {
		return fault.BadRequest("database is not partitioned")
	}
	name := q.Path[2]
	if err := layer.ValidatePartition(name); err != nil {
		return err
	}
	if q.Params.Get("partition", name) != name {
		return fault.BadRequest("Conflicting value for `partition` in query string")
	}
	q.Params = append(call.Params{{Name: "partition", Value: name}}, q.Params...)
	// CouchDB reads the parameters in this order here, which matters if both key and startkey are given.
	byName := func(a, b call.Param) int { return strings.Compare(a.Name, b.Name) }
	slices.SortStableFunc(q.Params, byName)
	q.Params = slices.CompactFunc(q.Params, func(a, b call.Param) bool { return a.Name == b.Name })
	q.Path = append([]string{q.Path[0]}, q.Path[3:]...)
	e := s.partitionEndpoint(q)
	if e == nil {
		return fault.NotFound("missing")
	}
	return s.reach(q, e)
}

// partitionEndpoint returns the endpoint of a request for one partition, or nil if there is none.
func (s *Server) partitionEndpoint(q *call.Request) *endpoint {
	switch q.Path[1] {
	case "_all_docs", "_find", "_explain", "_index":
		return s.routes.find(q.Path)
	case "_design":
		if len(q.Path) > 3 && strings.HasPrefix(q.Path[3], "_") {
			return s.routes.find(q.Path)
		}
	}
	return nil
}

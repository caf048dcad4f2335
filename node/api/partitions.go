package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
)

// partition answers everything under /{db}/_partition. What is asked of a partition is the same request without the first two segments and with a parameter
// that names the partition (chttpd_db:handle_partition_req).
func (q *request) partition() error {
	switch {
	case len(q.path) == 2:
		return badRequest("invalid_partition_req")
	case len(q.path) == 3:
		return q.partitionInfo()
	}
	partitioned, err := q.db.IsPartitioned(q.ctx())
	if err != nil {
		return err
	}
	if !partitioned {
		return badRequest("database is not partitioned")
	}
	name := q.path[2]
	if err := layer.ValidatePartition(name); err != nil {
		return err
	}
	if q.params.get("partition", name) != name {
		return badRequest("Conflicting value for `partition` in query string")
	}
	q.params = append(params{{"partition", name}}, q.params...)
	byName := func(a, b param) int { return strings.Compare(a.name, b.name) } // so CouchDB reads them here; it matters where key and startkey are both given
	slices.SortStableFunc(q.params, byName)
	q.params = slices.CompactFunc(q.params, func(a, b param) bool { return a.name == b.name })
	q.path = append([]string{q.path[0]}, q.path[3:]...)
	e := q.partitionEndpoint()
	if e == nil {
		return &fault{status: http.StatusNotFound, name: "not_found", reason: "missing"}
	}
	return q.reach(e)
}

// partitionEndpoint is what can be asked of one partition, nil for anything else.
func (q *request) partitionEndpoint() *endpoint {
	switch q.path[1] {
	case "_all_docs", "_find", "_explain", "_index":
		return route(q.path)
	case "_design":
		if len(q.path) > 3 && strings.HasPrefix(q.path[3], "_") {
			return route(q.path)
		}
	}
	return nil
}

// partitionInfo answers GET /{db}/_partition/{name}.
func (q *request) partitionInfo() error {
	name := q.path[2]
	switch {
	case q.method == http.MethodPost && strings.HasPrefix(name, "_"):
		return layer.ValidatePartition(name)
	case q.method != http.MethodGet && q.method != http.MethodHead:
		return methodNotAllowed("GET")
	}
	info, err := q.db.Partition(q.ctx(), name)
	if err != nil {
		return err
	}
	b := appendStringMember([]byte{'{'}, "db_name", q.path[0])
	b = append(b, `,"sizes":{`...)
	b = appendIntMember(b, "active", info.ActiveSize)
	b = appendIntMember(b, "external", info.ExternalSize)
	b = append(b, '}')
	b = appendStringMember(b, "partition", name)
	b = appendIntMember(b, "doc_count", info.DocCount)
	b = appendIntMember(b, "doc_del_count", info.DocDelCount)
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

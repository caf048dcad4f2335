package server

import (
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// stats counts what this node has done, for /_node/{name}/_stats, in CouchDB's format. The zero value is ready to use.
type stats struct {
	mu struct {
		sync.Mutex
		requests, aborted int64
		methods           map[string]int64
		statuses          map[int]int64
		httpd             map[string]int64 // requests of some kinds, by name
		query             call.QueryDid    // sum over all _find requests
		queries           queryKinds
	}
	took, bulk, queried histogram
}

// queryKinds counts _find requests.
type queryKinds struct{ unindexed, invalid, scanned int64 }

// Answered is a finished request.
type Answered struct {
	Method, Route string
	Status        int // 0 if there was no answer
	Took          time.Duration
	Path          []string // as partition requests leave it
	Did           call.Did
}

// kind returns the statistic in couchdb/httpd that counts such a request, or "".
func (a *Answered) kind() string {
	partition := strings.HasPrefix(a.Route, "/{db}/_partition/") && len(a.Path) > 1
	switch {
	case partition && a.Path[1] == "_all_docs":
		return "partition_all_docs_requests"
	case partition && a.Path[1] == "_find":
		return "partition_find_requests"
	case partition && a.Path[1] == "_explain":
		return "partition_explain_requests"
	case partition && a.Path[1] == "_design":
		return "partition_view_requests"
	case a.Route == "/{db}/_bulk_docs":
		return "bulk_requests"
	case a.Route == "/{db}/_purge":
		return "purge_requests"
	case strings.HasPrefix(a.Route, "/{db}/_design/{ddoc}/_view/"):
		return "view_reads"
	}
	return ""
}

// Count counts a finished request. It does not block.
func (s *stats) Count(a *Answered) {
	now := time.Now()
	s.took.add(now, float64(a.Took.Microseconds())/1000)
	if a.Route == "/{db}/_bulk_docs" {
		s.bulk.add(now, float64(a.Did.BulkDocs))
	}
	query := a.Did.Query
	if query != nil {
		s.queried.add(now, float64(query.Took.Microseconds())/1000)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.methods == nil {
		s.mu.methods, s.mu.statuses, s.mu.httpd = map[string]int64{}, map[int]int64{}, map[string]int64{}
	}
	s.mu.requests++
	if a.Status == 0 {
		s.mu.aborted++
	}
	if slices.Contains(statMethods, a.Method) {
		s.mu.methods[a.Method]++
	}
	s.mu.statuses[a.Status]++
	if kind := a.kind(); kind != "" {
		s.mu.httpd[kind]++
		if kind == "partition_view_requests" {
			s.mu.httpd["view_reads"]++
		}
	}
	if query == nil {
		return
	}
	for _, add := range []struct {
		to *int64
		n  int64
	}{
		{&s.mu.query.Keys, query.Keys}, {&s.mu.query.Docs, query.Docs}, {&s.mu.query.Quorum, query.Quorum},
		{&s.mu.query.Results, query.Results}, {&s.mu.queries.unindexed, number(query.Unindexed)},
		{&s.mu.queries.invalid, number(query.Invalid)}, {&s.mu.queries.scanned, number(query.Scanned)},
	} {
		*add.to += add.n
	}
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Counters are what other parts of the node count. Those of replications are of this node since its start.
type Counters struct {
	ReplicationsRunning                                     int
	ReplicationStarts, ReplicationCrashes, ReplicationStops int64
	ReplicationsCompleted, ReplicationsFailed               int64

	Mapped, Emitted int64 // documents and rows of index builds
	OpenFiles       int   // -1 if unknown
}

// The methods and statuses that are shown even if there were none, as in CouchDB.
var (
	statMethods  = []string{"COPY", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"}
	statStatuses = []int{200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415,
		416, 417, 500, 501, 503, 507}
)

// statistic is one value with its place.
type statistic struct {
	path  string // with slashes
	kind  string
	about string
	value []byte // JSON
}

// list returns all statistics, sorted by path.
func (s *stats) list(c *Counters, feeds int64) (list []statistic) {
	now := time.Now()
	add := func(path, kind, about string, n int64) {
		list = append(list, statistic{path, kind, about, strconv.AppendInt(nil, n, 10)})
	}
	spread := func(path, about string, h *histogram) {
		list = append(list, statistic{path, "histogram", about, h.append(nil, now)})
	}
	spread("couchdb/request_time", "length of a request in milliseconds", &s.took)
	spread("couchdb/httpd/bulk_docs", "distribution of the number of docs in _bulk_docs requests", &s.bulk)
	spread("mango/query_time", "length of time processing a mango query in milliseconds", &s.queried)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, about := range map[string]string{
		"bulk_requests":               "number of bulk requests",
		"view_reads":                  "number of view reads",
		"purge_requests":              "number of purge requests",
		"temporary_view_reads":        "number of temporary view reads, which there are none of",
		"partition_all_docs_requests": "number of partition HTTP _all_docs requests",
		"partition_view_requests":     "number of partition HTTP view requests",
		"partition_find_requests":     "number of partition HTTP _find requests",
		"partition_explain_requests":  "number of partition HTTP _explain requests",
	} {
		add("couchdb/httpd/"+name, "counter", about, s.mu.httpd[name])
	}
	add("couchdb/httpd/clients_requesting_changes", "counter", "number of changes feeds that wait now", feeds)
	add("couchdb/httpd/requests", "counter", "number of HTTP requests", s.mu.requests)
	add("couchdb/httpd/aborted_requests", "counter", "number of aborted requests", s.mu.aborted)
	for _, method := range statMethods {
		add("couchdb/httpd_request_methods/"+method, "counter", "number of HTTP "+method+" requests",
			s.mu.methods[method])
	}
	for _, status := range statStatuses {
		s.mu.statuses[status] += 0
	}
	for status, n := range s.mu.statuses {
		if status != 0 {
			text := strconv.Itoa(status)
			add("couchdb/httpd_status_codes/"+text, "counter",
				"number of HTTP "+text+" "+http.StatusText(status)+" responses", n)
		}
	}
	add("mango/docs_examined", "counter", "number of documents examined by mango queries", s.mu.query.Docs)
	add("mango/quorum_docs_examined", "counter", "number of documents examined by mango queries with r > 1",
		s.mu.query.Quorum)
	add("mango/keys_examined", "counter", "number of keys examined by mango queries", s.mu.query.Keys)
	add("mango/results_returned", "counter", "number of rows returned by mango queries", s.mu.query.Results)
	add("mango/unindexed_queries", "counter", "number of mango queries that could not use an index",
		s.mu.queries.unindexed)
	add("mango/query_invalid_index", "counter", "number of mango queries that generated an invalid index warning",
		s.mu.queries.invalid)
	add("mango/too_many_docs_scanned", "counter", "number of mango queries that generated an index scan warning",
		s.mu.queries.scanned)
	if c != nil {
		list = append(list, c.list()...)
	}
	slices.SortFunc(list, func(a, b statistic) int {
		return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
	})
	return list
}

func (c *Counters) list() (list []statistic) {
	for _, v := range []struct {
		path, kind, about string
		n                 int64
	}{
		{"couchdb/mrview/emits", "counter", "number of rows that index builds have written", c.Emitted},
		{"couchdb/mrview/map_doc", "counter", "number of documents that index builds have processed", c.Mapped},
		{"couchdb/open_os_files", "counter", "number of open file descriptors", int64(c.OpenFiles)},
		{"couch_replicator/jobs/running", "gauge", "replications that this node runs now",
			int64(c.ReplicationsRunning)},
		{"couch_replicator/jobs/starts", "counter", "number of runs of replications begun", c.ReplicationStarts},
		{"couch_replicator/jobs/stops", "counter", "number of runs that were stopped", c.ReplicationStops},
		{"couch_replicator/jobs/crashes", "counter", "number of runs that ended with an error, to be tried again",
			c.ReplicationCrashes},
		{"couch_replicator/docs/completed_state_updates", "counter", "number of replications that were completed",
			c.ReplicationsCompleted},
		{"couch_replicator/docs/failed_state_updates", "counter", "number of replications that failed for good",
			c.ReplicationsFailed},
	} {
		if v.n >= 0 {
			list = append(list, statistic{v.path, v.kind, v.about, strconv.AppendInt(nil, v.n, 10)})
		}
	}
	return list
}

// append appends all statistics as one object, whose members are the segments of their paths.
func (s *stats) append(dst []byte, c *Counters, feeds int64) []byte {
	dst = append(dst, '{')
	var open []string // the objects that are open
	for _, v := range s.list(c, feeds) {
		place := strings.Split(v.path, "/")
		dir, name := place[:len(place)-1], place[len(place)-1]
		same := 0
		for same < min(len(open), len(dir)) && open[same] == dir[same] {
			same++
		}
		for range open[same:] {
			dst = append(dst, '}')
		}
		for _, d := range dir[same:] {
			dst = append(encode.Member(dst, d), '{')
		}
		open = dir
		dst = append(encode.Member(dst, name), '{')
		dst = append(encode.Member(dst, "value"), v.value...)
		dst = encode.StringMember(dst, "type", v.kind)
		dst = append(encode.StringMember(dst, "desc", v.about), '}')
	}
	for range open {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// NodeName answers GET /_node/{name}.
func (h *Handlers) NodeName(q *call.Request) error {
	name := q.Part(1)
	if name == "_local" {
		name = h.Node
	}
	return q.SendJSON(http.StatusOK, append(encode.StringMember([]byte{'{'}, "name", name), '}'))
}

// IsMember reports whether there is a member of that name.
func (h *Handlers) IsMember(q *call.Request, name string) bool {
	return slices.ContainsFunc(h.memberList(q), func(m Member) bool { return m.Name == name })
}

// NodeElsewhere has another member answer a request for a path below /_node/{name}/.
func (h *Handlers) NodeElsewhere(q *call.Request) error {
	name := q.Part(1)
	if h.Others == nil {
		return fault.NotFound("no such node: " + name)
	}
	r := NodeRequest{Method: q.Method, Path: q.Path[2:], User: *q.UserCtx()}
	if q.Method == http.MethodPut { // no other one has a body that counts
		body, err := q.Body.Whole()
		if err != nil {
			return err
		}
		r.Body = body
	}
	a, err := h.Others.Ask(q.Ctx(), name, r)
	if err != nil {
		h.Log.Warn("another node does not answer", "node", name, "error", err)
		return &fault.Fault{Status: http.StatusServiceUnavailable, Name: "nodedown", Reason: name + " does not answer"}
	}
	q.W.Header().Set("Content-Type", a.Type)
	q.W.Header().Set("Cache-Control", "must-revalidate")
	return q.SendBytes(a.Status, a.Body)
}

// NodeStats answers /_node/{name}/_stats, or the part that the path names. It has those of CouchDB's statistics that
// mean something here (docs/http.md), and null for all others, as CouchDB for an unknown name.
func (h *Handlers) NodeStats(q *call.Request) error {
	var counters *Counters
	if h.Counters != nil {
		c := h.Counters()
		counters = &c
	}
	found := gjson.ParseBytes(h.Stats.append(nil, counters, h.Feeds()))
	for _, name := range q.Path[3:] {
		if found = decode.Member(found, name); !found.Exists() {
			return q.SendJSON(http.StatusOK, []byte("null")) // as CouchDB
		}
	}
	return q.SendJSON(http.StatusOK, []byte(found.Raw))
}

// NodeSystem answers /_node/{name}/_system with those of CouchDB's values that a Go process has. There are no processes
// of query servers, and no queues of messages like Erlang's.
func (h *Handlers) NodeSystem(q *call.Request) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b := encode.IntMember([]byte{'{'}, "uptime", int64(time.Since(h.Began).Seconds()))
	b = append(encode.Member(b, "memory"), '{')
	b = encode.IntMember(b, "heap", int64(m.HeapAlloc))
	b = encode.IntMember(b, "system", int64(m.Sys))
	b = append(b, '}')
	b = encode.IntMember(b, "run_queue", runnable())
	b = encode.IntMember(b, "process_count", int64(runtime.NumGoroutine()))
	b = encode.IntMember(b, "garbage_collection_count", int64(m.NumGC))
	b = encode.IntMember(b, "words_reclaimed", int64((m.TotalAlloc-m.HeapAlloc)/8))
	b = encode.IntMember(b, "os_proc_count", 0)
	b = encode.IntMember(b, "stale_proc_count", 0)
	b = encode.IntMember(b, "internal_replication_jobs", 0)
	b = append(encode.Member(b, "message_queues"), "{}"...)
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

// runnable returns how many goroutines wait for a processor.
func runnable() int64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// NodeVersions answers /_node/{name}/_versions: what CouchDB shows, apart from Erlang, and the versions of this program
// and of Go.
func (h *Handlers) NodeVersions(q *call.Request) error {
	b := encode.StringMember([]byte{'{'}, "divan", h.Version)
	b = encode.StringMember(b, "go", runtime.Version())
	b = append(encode.Member(b, "javascript_engine"), '{')
	b = encode.StringMember(b, "name", "quickjs")
	b = append(encode.StringMember(b, "version", h.JavaScript), '}')
	b = append(encode.Member(b, "collation_driver"), '{')
	b = encode.StringMember(b, "name", "divan")
	b = encode.StringMember(b, "library_version", layer.ICUVersion)
	b = encode.StringMember(b, "collator_version", layer.CollatorVersion)
	b = encode.StringMember(b, "collation_algorithm_version", layer.UCAVersion)
	return q.SendJSON(http.StatusOK, append(b, "}}"...))
}

package server

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// stats counts responses for /_node/{name}/_stats, in CouchDB's format. The zero value is ready to use.
type stats struct {
	mu struct {
		sync.Mutex
		requests int64
		methods  map[string]int64
		statuses map[int]int64
	}
}

// Count counts an answer.
func (s *stats) Count(method string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.methods == nil {
		s.mu.methods, s.mu.statuses = map[string]int64{}, map[int]int64{}
	}
	s.mu.requests++
	switch method {
	case "COPY", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT":
		s.mu.methods[method]++
	}
	s.mu.statuses[status]++
}

func appendCounter(dst []byte, name string, n int64, about string) []byte {
	dst = encode.IntMember(append(encode.Member(dst, name), '{'), "value", n)
	dst = append(dst, `,"type":"counter"`...)
	return append(encode.StringMember(dst, "desc", about), '}')
}

func (s *stats) append(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	dst = append(dst, `{"couchdb":{"httpd":{`...)
	dst = appendCounter(dst, "requests", s.mu.requests, "number of HTTP requests")
	dst = append(dst, `},"httpd_request_methods":{`...)
	for method, n := range s.mu.methods {
		dst = appendCounter(dst, method, n, "number of HTTP "+method+" requests")
	}
	dst = append(dst, `},"httpd_status_codes":{`...)
	for status, n := range s.mu.statuses {
		dst = appendCounter(dst, strconv.Itoa(status), n,
			"number of HTTP "+strconv.Itoa(status)+" "+http.StatusText(status)+" responses")
	}
	return append(dst, "}}}"...)
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

// NodeElsewhere answers GET of a path below /_node/{name}/ of another member.
func (h *Handlers) NodeElsewhere(q *call.Request) error {
	name := q.Part(1)
	if h.Others == nil {
		return fault.NotFound("no such node: " + name)
	}
	status, contentType, body, err := h.Others.Get(q.Ctx(), name, strings.Join(q.Path[2:], "/"))
	if err != nil {
		h.Log.Warn("another node does not answer", "node", name, "error", err)
		return &fault.Fault{Status: http.StatusServiceUnavailable, Name: "nodedown", Reason: name + " is down"}
	}
	q.W.Header().Set("Content-Type", contentType)
	q.W.Header().Set("Cache-Control", "must-revalidate")
	return q.SendBytes(status, body)
}

// NodeStats answers /_node/{name}/_stats, or the part that the path names.
func (h *Handlers) NodeStats(q *call.Request) error {
	found := gjson.ParseBytes(h.Stats.append(nil))
	for _, name := range q.Path[3:] {
		if found = decode.Member(found, name); !found.Exists() {
			return q.SendJSON(http.StatusOK, []byte("null")) // as CouchDB
		}
	}
	return q.SendJSON(http.StatusOK, []byte(found.Raw))
}

// NodeSystem answers /_node/{name}/_system with those values that a Go process has.
func (h *Handlers) NodeSystem(q *call.Request) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b := encode.IntMember([]byte{'{'}, "uptime", int64(time.Since(h.Began).Seconds()))
	b = append(encode.Member(b, "memory"), '{')
	b = encode.IntMember(b, "heap", int64(m.HeapAlloc))
	b = encode.IntMember(b, "system", int64(m.Sys))
	b = append(b, '}')
	b = encode.IntMember(b, "process_count", int64(runtime.NumGoroutine()))
	b = encode.IntMember(b, "garbage_collection_count", int64(m.NumGC))
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

// NodeVersions answers /_node/{name}/_versions.
func (h *Handlers) NodeVersions(q *call.Request) error {
	b := encode.StringMember([]byte{'{'}, "divan", h.Version)
	b = encode.StringMember(b, "go", runtime.Version())
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

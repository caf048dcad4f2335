package api

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// stats counts answers for /_node/{name}/_stats, in CouchDB's shape. The zero value is ready.
type stats struct {
	mu struct {
		sync.Mutex
		requests int64
		methods  map[string]int64
		statuses map[int]int64
	}
}

func (s *stats) count(method string, status int) {
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
	dst = appendIntMember(append(appendMember(dst, name), '{'), "value", n)
	dst = append(dst, `,"type":"counter"`...)
	return append(appendStringMember(dst, "desc", about), '}')
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
		dst = appendCounter(dst, strconv.Itoa(status), n, "number of HTTP "+strconv.Itoa(status)+" "+http.StatusText(status)+" responses")
	}
	return append(dst, "}}}"...)
}

// nodeStats answers /_node/{name}/_stats, or the part of it that the path names.
func (q *request) nodeStats() error {
	found := gjson.ParseBytes(q.srv.stats.append(nil))
	for _, name := range q.path[3:] {
		if found = member(found, name); !found.Exists() {
			return notFound("missing")
		}
	}
	return q.sendJSON(http.StatusOK, []byte(found.Raw))
}

// nodeSystem answers /_node/{name}/_system with what a Go process has of it.
func (q *request) nodeSystem() error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b := appendIntMember([]byte{'{'}, "uptime", int64(time.Since(q.srv.began).Seconds()))
	b = append(appendMember(b, "memory"), '{')
	b = appendIntMember(b, "heap", int64(m.HeapAlloc))
	b = appendIntMember(b, "system", int64(m.Sys))
	b = append(b, '}')
	b = appendIntMember(b, "process_count", int64(runtime.NumGoroutine()))
	b = appendIntMember(b, "garbage_collection_count", int64(m.NumGC))
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

// nodeVersions answers /_node/{name}/_versions.
func (q *request) nodeVersions() error {
	b := appendStringMember([]byte{'{'}, "divan", q.srv.o.Version)
	b = appendStringMember(b, "go", runtime.Version())
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

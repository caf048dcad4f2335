package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/divandb/divan/node/api"
)

// statistics reads a part of _stats as numbers by name, and a histogram as its n.
func (s *server) statistics(t *testing.T, part string) map[string]float64 {
	t.Helper()
	var list map[string]struct{ Value json.RawMessage }
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/_node/_local/_stats/"+part, "")), &list); err != nil {
		t.Fatal(err)
	}
	numbers := map[string]float64{}
	for name, v := range list {
		if v.Value == nil {
			continue // another part
		}
		var n float64
		var spread struct{ N float64 }
		if json.Unmarshal(v.Value, &n) != nil {
			if err := json.Unmarshal(v.Value, &spread); err != nil {
				t.Fatal(err)
			}
			n = spread.N
		}
		numbers[name] = n
	}
	return numbers
}

// Statistics of requests, queries and other parts of the node are CouchDB's, as far as they mean something here.
func TestStats(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Counters = func() api.Counters {
			return api.Counters{ReplicationsRunning: 2, ReplicationStarts: 5, ReplicationCrashes: 1, Mapped: 7,
				Emitted: 9, OpenFiles: -1}
		}
	})
	s.must(t, "PUT", "/db?partitioned=true", "")
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[{"_id":"p:a","n":1},{"_id":"p:b","n":2},{"_id":"q:c","n":3}]}`)
	s.must(t, "PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	s.must(t, "GET", "/db/_partition/p/_design/d/_view/v", "")
	s.must(t, "GET", "/db/_partition/p/_all_docs", "")
	s.must(t, "POST", "/db/_partition/p/_find", `{"selector":{"n":{"$gt":1}}}`)
	s.must(t, "POST", "/db/_find", `{"selector":{"n":{"$gt":0}},"r":2}`)
	s.must(t, "POST", "/db/_find", `{"selector":{"_id":"p:a"},"use_index":"none"}`)
	s.must(t, "POST", "/db/_purge", `{}`)
	for part, want := range map[string]map[string]float64{
		"couchdb/httpd": {"bulk_requests": 1, "bulk_docs": 1, "view_reads": 1, "partition_view_requests": 1,
			"partition_all_docs_requests": 1, "partition_find_requests": 1, "partition_explain_requests": 0,
			"purge_requests": 1, "clients_requesting_changes": 0, "temporary_view_reads": 0, "aborted_requests": 0},
		"couchdb/httpd_request_methods": {"PUT": 2, "POST": 5, "COPY": 0, "HEAD": 0, "OPTIONS": 0, "DELETE": 0},
		"couchdb/httpd_status_codes":    {"201": 4, "404": 0, "500": 0, "507": 0},
		"couchdb/mrview":                {"map_doc": 7, "emits": 9},
		"couch_replicator/jobs":         {"running": 2, "starts": 5, "crashes": 1, "stops": 0},
		"mango": {"docs_examined": 3, "quorum_docs_examined": 3, "results_returned": 5, "unindexed_queries": 3,
			"query_invalid_index": 1, "query_time": 3, "too_many_docs_scanned": 0, "keys_examined": 6},
	} {
		got := s.statistics(t, part)
		for name, n := range want {
			if v, ok := got[name]; !ok || v != n {
				t.Errorf("%s/%s: %v, want %v", part, name, v, n)
			}
		}
	}
	if got := s.statistics(t, "couchdb")["request_time"]; got < 9 {
		t.Errorf("request_time has %v requests", got)
	}
	for part, want := range map[string]string{
		"rexi": "null", "couchdb/none": "null", "couchdb/open_os_files": "null",
		"couchdb/httpd/bulk_docs/value/n": "1", "couchdb/httpd/bulk_requests/type": `"counter"`,
	} {
		if got := s.must(t, "GET", "/_node/_local/_stats/"+part, ""); got != want && got != want+"\n" {
			t.Errorf("%s: %q, want %s", part, got, want)
		}
	}
}

// A feed counts among clients_requesting_changes while it waits, and not afterwards.
func TestStats_feeds(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.call(t, "GET", "/db/_changes?feed=longpoll&since=now", "")
	}()
	await := func(want float64) {
		t.Helper()
		for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			got := s.statistics(t, "couchdb/httpd")["clients_requesting_changes"]
			if got == want {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%v feeds, want %v", got, want)
			}
		}
	}
	await(1)
	s.must(t, "PUT", "/db/a", `{}`)
	<-done
	await(0)
}

package e2e_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is a span as a collector gets it.
type span struct {
	name, trace, id, parent, node string
	attributes                    map[string]string
	took                          time.Duration
	failed                        bool
}

// spans is a collector.
type spans struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	list   []span
	header http.Header
}

func collect(t *testing.T) *spans {
	s := &spans{t: t}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(body)
	}
	text, err := io.ReadAll(body)
	var batch collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &batch)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		s.t.Errorf("%s: %v", r.URL.Path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = r.Header
	for _, of := range batch.GetResourceSpans() {
		node := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.instance.id" {
				node = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeSpans() {
			for _, got := range scope.GetSpans() {
				found := span{name: got.GetName(), trace: fmt.Sprintf("%x", got.GetTraceId()),
					id: fmt.Sprintf("%x", got.GetSpanId()), parent: fmt.Sprintf("%x", got.GetParentSpanId()), node: node,
					attributes: map[string]string{}, failed: got.GetStatus().GetCode() == 2,
					took: time.Duration(got.GetEndTimeUnixNano() - got.GetStartTimeUnixNano())}
				for _, a := range got.GetAttributes() {
					v := a.GetValue()
					found.attributes[a.GetKey()] = v.GetStringValue()
					if found.attributes[a.GetKey()] == "" {
						found.attributes[a.GetKey()] = fmt.Sprint(v.GetIntValue())
					}
				}
				s.list = append(s.list, found)
			}
		}
	}
}

// of returns the spans of a trace, by name.
func (s *spans) of(trace string) map[string][]span {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string][]span{}
	for _, x := range s.list {
		if x.trace == trace {
			found[x.name] = append(found[x.name], x)
		}
	}
	return found
}

func traceparent(n int) (trace, header string) {
	trace = fmt.Sprintf("%032x", n)
	return trace, "00-" + trace + "-00000000000000aa-01"
}

// Requests and statements are spans, in the trace that their client began, and their transactions are below them.
func TestTracing(t *testing.T) {
	s := collect(t)
	c := newCluster(t, 2)
	settings := "tracing: {endpoint: '" + s.server.URL + "', sample: 1000000000, headers: {X-Token: let me in}}\n"
	c.more = map[int]string{0: settings, 1: settings}
	c.start(0)
	c.start(1)
	c.allAlive()
	two := c.nodes[1].client()
	two.ok("PUT", "/secretdb", "")
	send := func(n, status int, method, path, body string) string {
		trace, header := traceparent(n)
		if got := two.do(method, path, body, "traceparent", header); got.status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
		}
		return trace
	}
	written := send(1, 201, "PUT", "/secretdb/secretdoc", `{"n":1}`)
	listed := send(2, 200, "GET", "/secretdb/_all_docs", "")
	refused := send(3, 409, "PUT", "/secretdb/secretdoc", `{"n":2}`)
	missing := send(6, 404, "GET", "/secretdb/other", "")
	conn, err := pgx.Connect(t.Context(), "postgres://me@"+c.nodes[1].ready["sql"]+"/secretdb")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	selected, header := traceparent(4)
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM docs /*traceparent='"+header+"'*/").Scan(&n); err != nil ||
		n != 1 {
		t.Fatal(n, err)
	}
	failed, header := traceparent(5)
	if _, err := conn.Exec(t.Context(), "INSERT INTO docs (id, doc) VALUES ('secretdoc', '{}') /*traceparent='"+header+
		"'*/"); err == nil {
		t.Error("a document was inserted twice")
	}
	root := func(trace, name string) span {
		t.Helper()
		// A driver may have prepared a statement in a message before.
		last := map[bool]int{true: 2, false: 1}[name == "select secretdb"]
		eventually(t, "a span "+name, 20*time.Second, func() bool { return len(s.of(trace)[name]) >= last })
		all := s.of(trace)[name]
		found := all[len(all)-1]
		if found.parent != "00000000000000aa" || found.node != "node1" {
			t.Errorf("%+v", found)
		}
		return found
	}
	// below checks that a span has children of a name, with at least one attempt each.
	below := func(of span, name string) {
		t.Helper()
		all := s.of(of.trace)
		for _, x := range all[name] {
			if x.parent == of.id && x.attributes["divan.attempts"] != "0" && x.took <= of.took {
				return
			}
		}
		t.Errorf("%s has no %s below it: %+v", of.name, name, all)
	}
	put := root(written, "PUT /{db}/{doc}")
	below(put, "transaction")
	if put.attributes["http.response.status_code"] != "201" || put.failed {
		t.Errorf("%+v", put)
	}
	below(root(listed, "GET /{db}/_all_docs"), "read")
	if again := root(refused, "PUT /{db}/{doc}"); again.attributes["http.response.status_code"] != "409" || again.failed {
		t.Errorf("%+v", again)
	}
	counted := root(selected, "select secretdb")
	below(counted, "snapshot")
	if counted.attributes["db.response.returned_rows"] != "1" || counted.failed {
		t.Errorf("%+v", counted)
	}
	if x := root(failed, "insert secretdb"); !x.failed {
		t.Errorf("%+v", x)
	}
	// A refusal is an answer of a transaction, and no failure of it.
	below(root(missing, "GET /{db}/{doc}"), "transaction")
	for _, trace := range []string{written, refused, missing, selected} {
		for name, all := range s.of(trace) {
			for _, x := range all {
				if x.failed {
					t.Errorf("a failure of %s: %+v", name, x)
				}
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header.Get("X-Token") != "let me in" {
		t.Errorf("headers %v", s.header)
	}
	for _, x := range s.list {
		if values := fmt.Sprint(x.name, slices.Collect(maps.Values(x.attributes))); strings.Contains(values, "secretdoc") {
			t.Errorf("a span names a document: %s", values)
		}
		if x.parent == "" { // one in 1,000,000,000 is traced by chance
			t.Errorf("a request was traced without being asked for: %+v", x)
		}
	}
}

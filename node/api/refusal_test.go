package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/node/api"
)

// dial opens a connection with a deadline.
func (s *server) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// refusals are requests that are answered without reading their body.
var refusals = map[string]struct {
	line, headers string
	status        int
}{
	"no user":                  {"PUT /db/doc", "", 401},
	"a wrong password":         {"PUT /db/doc", "Authorization: Basic YW5uYTp4\r\n", 401},
	"no admin":                 {"PUT /_node/_local/_config/a/b", user, 401},
	"a design document":        {"PUT /open/_design/x", user, 403},
	"an attachment of one":     {"PUT /open/_design/x/a", user, 403},
	"no such database":         {"POST /none/_bulk_docs", admin + typeJSON, 404},
	"a wrong method":           {"PUT /db/_bulk_docs", admin + typeJSON, 405},
	"a database that is there": {"PUT /db", admin, 412},
	"an import into one":       {"POST /db/_import", admin, 412},
	"a type":                   {"POST /db/_bulk_docs", admin, 415},
	"an encoding":              {"PUT /db/doc", admin + "Content-Encoding: x\r\n", 415},
	"a revision":               {"PUT /db/doc?rev=x", admin, 400},
	"a revision by If-Match":   {"PUT /db/doc", admin + "If-Match: x\r\n", 400},
	"an id":                    {"PUT /db/_x", admin, 400},
	"a parameter of _all_docs": {"POST /db/_all_docs?limit=x", admin + typeJSON, 400},
	"one of several queries":   {"POST /db/_all_docs/queries?limit=x", admin + typeJSON, 400},
	"a parameter of _changes":  {"POST /db/_changes?limit=x", admin + typeJSON, 400},
	"a filter of _changes":     {"POST /db/_changes?filter=_x", admin + typeJSON, 400},
	"a filter that is missing": {"POST /db/_changes?filter=x/y", admin + typeJSON, 404},
	"a view that is missing":   {"POST /db/_design/x/_view/y", admin + typeJSON, 404},
	"a parameter of _bulk_get": {"POST /db/_bulk_get?rev=1-a", admin + typeJSON, 400},
	"an attachment's revision": {"PUT /db/doc/a?rev=1-a", admin, 409},
}

const (
	admin    = "Authorization: Basic YW5uYTphbm5h\r\n" // anna:anna
	user     = "Authorization: Basic Ym9iOmJvYg==\r\n" // bob:bob
	typeJSON = "Content-Type: application/json\r\n"
)

func serveRefusals(t *testing.T) *server {
	s := serve(t, func(o *api.Options) {
		o.Auth = testAuth{"anna": {"anna", []string{"_admin"}}, "bob": {"bob", nil}}
	})
	s.ask(t, "PUT", "/db", "", "Authorization", "Basic YW5uYTphbm5h")
	s.ask(t, "PUT", "/open", "", "Authorization", "Basic YW5uYTphbm5h")
	s.ask(t, "PUT", "/open/_security", "{}", "Authorization", "Basic YW5uYTphbm5h")
	return s
}

// A refused request is answered before its body has arrived, whether the client sends the body, waits to be asked for
// it, or sends chunks without end. The body is not asked for.
func TestRefusal_AtOnce(t *testing.T) {
	s := serveRefusals(t)
	for _, body := range []string{"Content-Length: 50000000\r\n", "Content-Length: 1000\r\n",
		"Content-Length: 1000\r\nExpect: 100-continue\r\n", "Transfer-Encoding: chunked\r\n"} {
		for name, r := range refusals {
			conn := s.dial(t)
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s%s\r\n", r.line, r.headers, body)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil) // a 100 response would be found here
			if err != nil {
				t.Fatalf("%s, %q: %v", name, body, err)
			}
			if res.StatusCode != r.status {
				t.Errorf("%s, %q: %d, want %d", name, body, res.StatusCode, r.status)
			}
			text, err := io.ReadAll(res.Body)
			if err != nil || !strings.Contains(string(text), `"reason"`) {
				t.Errorf("%s, %q: %s %v", name, body, text, err)
			}
			if reusable := strings.HasSuffix(body, " 1000\r\n"); res.Close == reusable {
				t.Errorf("%s, %q: the connection is to be closed: %v", name, body, res.Close)
			}
			conn.Close()
		}
	}
}

// A client that sends its whole body before it reads gets the response, however large the body is.
func TestRefusal_ClientSendsOn(t *testing.T) {
	s := serveRefusals(t)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20))
	for name, r := range refusals {
		conn := s.dial(t)
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n", r.line, r.headers)
		for i := range 8 {
			if _, err := io.WriteString(conn, chunk); err != nil {
				t.Fatalf("%s, after %d MiB: %v", name, i, err)
			}
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if res.StatusCode != r.status {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, r.status)
		}
		conn.Close()
	}
}

// After a refusal the connection serves the next request if the body was short.
func TestRefusal_KeepsTheConnection(t *testing.T) {
	s := serveRefusals(t)
	conn := s.dial(t)
	answers := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprintf(conn, "PUT /db/doc HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 401 {
			t.Fatal(res.Status, err)
		}
		io.WriteString(conn, strings.Repeat("x", 1000))
	}
}

// A client that stops sending, or sends too slowly, is cut off with 408. One that sends slowly but steadily is not.
func TestBody_Pace(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Body, o.Limits.Rate = time.Second, 100 })
	s.must(t, "PUT", "/db", "")
	for name, c := range map[string]struct {
		every  time.Duration
		bytes  int
		times  int
		status int
	}{
		"nothing": {0, 0, 0, 408},
		"drops":   {100 * time.Millisecond, 1, 1000, 408},
		"slow":    {100 * time.Millisecond, 30, 30, 201},
	} {
		for path, head := range map[string]string{"/db/a" + name: `{"a":"`, "/db/b" + name + "/att": "data"} {
			conn := s.dial(t)
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, 1000, head)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				tick := time.NewTicker(max(c.every, 1))
				defer tick.Stop()
				for range c.times {
					<-tick.C
					if _, err := io.WriteString(conn, strings.Repeat("x", c.bytes)); err != nil {
						return
					}
				}
				if c.status == 201 {
					rest := 1000 - len(head) - c.bytes*c.times
					io.WriteString(conn, strings.Repeat("x", rest-2)+`"}`)
				}
			}()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, path, err)
			}
			if text, _ := io.ReadAll(res.Body); res.StatusCode != c.status {
				t.Errorf("%s, %s: %d %s, want %d", name, path, res.StatusCode, text, c.status)
			}
			conn.Close()
			<-sent
		}
	}
}

// When the maximum number of connections is reached, idle ones make room for new ones. If all are busy, a new one gets
// an error.
func TestListener_Max(t *testing.T) {
	s := serveConns(t, api.ConnLimits{Max: 16}, func(e *embedded.Engine) kv.Engine { return e }, nil)
	for range 100 {
		s.dial(t) // sends nothing
	}
	conn := s.dial(t)
	fmt.Fprintf(conn, "PUT /db HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != 201 {
		t.Fatal(res, err)
	}
	if n := s.conns.Open(); n > 17 {
		t.Errorf("%d connections are open", n)
	}
	for s.conns.Open() > 15 { // on the server, a request ends a moment after its response
		if t.Context().Err() != nil {
			t.Fatal("the connection is not closed")
		}
		runtime.Gosched()
	}
	for range 16 {
		busy := s.dial(t)
		fmt.Fprintf(busy, "GET /db/_changes?feed=continuous&heartbeat=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
		if res, err := http.ReadResponse(bufio.NewReader(busy), nil); err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
	}
	conn = s.dial(t)
	fmt.Fprintf(conn, "GET /db HTTP/1.1\r\nHost: x\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !res.Close {
		t.Fatal(res, err)
	}
}

package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/api"
)

// A body that is too large is refused with 413 in JSON, nothing of it is written, and the server continues to work.
func TestLimits(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Request = 1 << 20 })
	s.must(t, "PUT", "/db", "")
	large := `{"docs":[{"_id":"a","x":"` + strings.Repeat("x", 1<<20) + `"}]}`
	const tooLarge = `{"error":"too_large","reason":"the request entity is too large"}` + "\n"
	if status, text := s.call(t, "POST", "/db/_bulk_docs", large); status != 413 || text != tooLarge {
		t.Error(status, text)
	}
	// No length.
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/db/_bulk_docs",
		io.MultiReader(strings.NewReader(large)))
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 413 || string(text) != tooLarge {
		t.Error(res.StatusCode, string(text))
	}
	res.Body.Close()
	bomb := string(gzipped(bytes.Repeat([]byte(" "), 100<<20)))
	if status, text := s.call(t, "POST", "/db/_bulk_docs", bomb, "Content-Encoding", "gzip"); status != 413 ||
		text != tooLarge {
		t.Error(status, text)
	}
	if text := s.must(t, "GET", "/db", ""); !strings.Contains(text, `"doc_count":0,`) {
		t.Error(text)
	}
}

func TestLimits_Document(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	status, text := s.call(t, "PUT", "/db/a", `{"x":"`+strings.Repeat("x", 8_000_000)+`"}`)
	if status != 413 || text != `{"error":"document_too_large","reason":"a"}`+"\n" {
		t.Error(status, text[:min(len(text), 200)])
	}
	// One that is too large refuses all of a request, as in CouchDB.
	huge := `{"_id":"huge","x":"` + strings.Repeat("x", 8_000_000) + `"}`
	for _, more := range []string{"", `"new_edits":false,`, `"all_or_nothing":true,`} {
		status, text := s.call(t, "POST", "/db/_bulk_docs", `{`+more+
			`"docs":[{"_id":"small","_rev":"1-a"},{"_id":"_local/l","_rev":"0-1"},`+strings.Replace(huge, `"x"`, `"_rev":"1-a","x"`, 1)+`]}`)
		if status != 413 || text != `{"error":"document_too_large","reason":"huge"}`+"\n" {
			t.Error(status, text[:min(len(text), 200)])
		}
	}
	for _, id := range []string{"small", "_local/l"} {
		if status, _ := s.call(t, "GET", "/db/"+id, ""); status != 404 {
			t.Errorf("%s was written: %d", id, status)
		}
	}
	if status, _ := s.call(t, "PUT", "/db/"+strings.Repeat("x", 513), `{}`); status != 400 {
		t.Error(status)
	}
	nested := strings.Repeat("[", 1_000_000)
	for path, body := range map[string]string{
		"/db/_bulk_docs": `{"docs":[{"x":` + nested + `]}`, "/db/_revs_diff": `{"a":` + nested, "/db": `{"x":` + nested,
		"/db/_changes?filter=_doc_ids": `{"doc_ids":` + nested,
	} {
		if status, text := s.call(t, "POST", path, body); status != 400 {
			t.Error(path, status, text)
		}
	}
}

// A panic is answered with 500 and no details. After the response has begun, a panic cuts the connection, so that the
// client does not take half a response for a whole one.
func TestPanic(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Users = userRules{t} })
	s.must(t, "PUT", "/_users", "")
	s.must(t, "PUT", "/_users/org.couchdb.user:panic", `{}`)
	status, text := s.call(t, "GET", "/_users/org.couchdb.user:panic", "")
	if status != 500 ||
		text != `{"error":"internal_server_error","reason":"The request failed; the server's log says why."}`+"\n" {
		t.Error(status, text)
	}
	refs := strings.Repeat(`{"id":"org.couchdb.user:first"},`, 2000)
	s.must(t, "PUT", "/_users/org.couchdb.user:first", `{}`)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/_users/_bulk_get",
		strings.NewReader(`{"docs":[`+refs+`{"id":"org.couchdb.user:panic"}]}`))
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half an answer looks whole: %v", err)
	}
	if status, _ := s.call(t, "GET", "/", ""); status != 200 {
		t.Error(status)
	}
}

// Random bytes get an error or a closed connection, and the server answers the next request.
func TestGarbage(t *testing.T) {
	s := serve(t, nil)
	for _, garbage := range []string{"\x00\x01\x02\x03\xff\xfe\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT /db HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, garbage); err != nil {
			t.Error(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.ReadAll(conn)
		conn.Close()
	}
	if status, text := s.call(t, "GET", "/_up", ""); status != 200 {
		t.Error(status, text)
	}
}

// A request that the HTTP server cannot read is answered as all others are.
func TestUnreadable(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct{ request, answer, reason string }{
		{"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request", "The request line, an escape in its path, or " +
			"a header is malformed."},
		{"GET / HTTP/1.1\r\n\r\n", "400 Bad Request", "400 Bad Request: missing required Host header"},
		{"GET / HTTP/9.1\r\nHost: x\r\n\r\n", "505 HTTP Version Not Supported",
			"505 HTTP Version Not Supported: unsupported protocol version"},
		{"PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", "501 Not Implemented",
			"Unsupported transfer encoding"},
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, c.request); err != nil {
			t.Error(err)
		}
		all, err := io.ReadAll(conn)
		conn.Close()
		head, body, _ := strings.Cut(string(all), "\r\n\r\n")
		var got struct{ Error, Reason string }
		if err != nil || json.Unmarshal([]byte(body), &got) != nil || got.Reason != c.reason || got.Error == "" ||
			!strings.HasPrefix(head, "HTTP/1.1 "+c.answer+"\r\n") ||
			!strings.Contains(head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(body))) {
			t.Errorf("%q: %q, %v", c.request, all, err)
		}
	}
}

// A request that writes all or none answers 417 with a reason for each document if it writes none: also if what stands
// in the way is known before the store is asked.
func TestBulkDocs_allOrNothing(t *testing.T) {
	s := serve(t, nil)
	s.ask(t, "PUT", "/db", "")
	s.ask(t, "PUT", "/db/x", "{}")
	for _, step := range []struct {
		body, answer string
		status       int
	}{
		{`{"all_or_nothing":true,"docs":[{"_id":"a"},{"_id":"b"}]}`, `"ok":true,"id":"b"`, 201},
		{`{"all_or_nothing":true,"docs":[{"_id":"c"},{"_id":"x"}]}`, `{"id":"c","error":"not_written"`, 417},
		{`{"all_or_nothing":true,"docs":[{"_id":"d"},{"_id":"_local/y"}]}`,
			`{"id":"_local/y","error":"not_implemented"`, 417},
		{`{"all_or_nothing":true,"docs":[{"_id":"_local/z"}]}`, `"error":"not_implemented"`, 417},
		{`{"docs":[{"_id":"e"},{"_id":"x"}]}`, `{"id":"x","error":"conflict"`, 201},
	} {
		a := s.ask(t, "POST", "/db/_bulk_docs", step.body)
		if a.status != step.status || !strings.Contains(a.body, step.answer) {
			t.Errorf("%s: %d %s, want %d with %s", step.body, a.status, a.body, step.status, step.answer)
		}
	}
	if a := s.ask(t, "GET", "/db/_all_docs", ""); !strings.Contains(a.body, `"total_rows":4`) { // a, b, e, x
		t.Errorf("documents: %s", a.body)
	}
	for _, id := range []string{"y", "z"} {
		if a := s.ask(t, "GET", "/db/_local/"+id, ""); a.status != 404 {
			t.Errorf("_local/%s: %d %s", id, a.status, a.body)
		}
	}
}

package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client sends HTTP requests to one node as one user. Its methods fail the test if there is no response.
type client struct {
	t    *testing.T
	base string
	auth string // Authorization header
	http *http.Client
}

func (p *process) client() *client { return newClient(p.t, p.http(), "") }

// as returns a client with credentials NAME:PASSWORD.
func (p *process) as(credentials string) *client { return newClient(p.t, p.http(), credentials) }

func newClient(t *testing.T, base, credentials string) *client {
	c := &client{t: t, base: base,
		http: &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	if credentials != "" {
		c.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// patient returns a client that waits long enough for the first response from an index of many documents, which a small
// machine with a cluster of its own may take minutes to build.
func (c *client) patient() *client {
	p := *c
	p.http = &http.Client{Timeout: 10 * time.Minute, Transport: c.http.Transport}
	return &p
}

// reply is a complete response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// try sends a request. The error is that of the connection.
func (c *client) try(method, path, body string, header ...string) (reply, error) {
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.auth != "" {
		r.Header.Set("Authorization", c.auth)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, text}, err
}

func (c *client) do(method, path, body string, header ...string) reply {
	c.t.Helper()
	r, err := c.try(method, path, body, header...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

func (c *client) status(method, path, body string) int {
	c.t.Helper()
	return c.do(method, path, body).status
}

// ok sends a request that must succeed and returns its JSON response.
func (c *client) ok(method, path, body string) any {
	c.t.Helper()
	r := c.do(method, path, body)
	if r.status/100 != 2 {
		c.t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
	}
	return decode(c.t, r.body)
}

// object is ok for responses that are JSON objects.
func (c *client) object(method, path, body string) map[string]any {
	c.t.Helper()
	v := c.ok(method, path, body)
	m, isObject := v.(map[string]any)
	if !isObject {
		c.t.Fatalf("%s %s: %v is no object", method, path, v)
	}
	return m
}

// into decodes the response to a GET into v.
func (c *client) into(path string, v any) {
	c.t.Helper()
	r := c.do("GET", path, "")
	if r.status != 200 {
		c.t.Fatalf("GET %s: %d %s", path, r.status, r.body)
	}
	if err := json.Unmarshal(r.body, v); err != nil {
		c.t.Fatalf("GET %s: %v: %.200s", path, err, r.body)
	}
}

// stream opens a response that may never end.
func (c *client) stream(path string) io.ReadCloser {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.auth != "" {
		r.Header.Set("Authorization", c.auth)
	}
	res, err := (&http.Client{}).Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.Body
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return v
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divandb/divan/node/dashboard"
)

func get(t *testing.T, h http.Handler, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	r := w.Result()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

func TestHandler_Page(t *testing.T) {
	h := dashboard.Handler(dashboard.Sources{})
	r, page := get(t, h, "/_dashboard/")
	if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("status %d, type %q", r.StatusCode, r.Header.Get("Content-Type"))
	}
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'sha256-") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, no := range []string{"/*style*/", "/*script*/", "src=\"http", "url(http", "innerHTML"} {
		if strings.Contains(page, no) {
			t.Errorf("the page contains %q", no)
		}
	}
	for path, want := range map[string]int{"/_dashboard": 301, "/_dashboard/x": 404, "/_dashboard/page.js": 404} {
		if r, _ := get(t, h, path); r.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, r.StatusCode, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/_dashboard/data", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

func TestHandler_Data(t *testing.T) {
	h := dashboard.Handler(dashboard.Sources{
		Members: func(context.Context) (any, error) { return []string{"a"}, nil },
		Actors:  func(context.Context) (any, error) { return nil, errors.New("no tree") },
		Tasks:   func(context.Context) (any, error) { panic("a bug") },
		Jobs:    func(context.Context) (any, error) { return func() {}, nil },
		Shards: func(ctx context.Context) (any, error) {
			if _, ok := ctx.Deadline(); !ok {
				return nil, errors.New("no deadline")
			}
			return []int{}, nil
		},
	})
	r, body := get(t, h, "/_dashboard/data")
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, header %v", r.StatusCode, r.Header)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"members": `["a"]`, "actors": `{"error":"no tree"}`,
		"tasks": `{"error":"a bug"}`, "shards": `[]`} {
		if string(got[name]) != want {
			t.Errorf("%s is %s, want %s", name, got[name], want)
		}
	}
	if !strings.HasPrefix(string(got["jobs"]), `{"error":`) {
		t.Errorf("jobs is %s", got["jobs"])
	}
	if _, ok := got["sessions"]; ok {
		t.Error("a section without a source is shown")
	}
}

package couch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// sending returns a server that sends all requests to another host.
func sending(t *testing.T, to string, status int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", to+r.URL.RequestURI())
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s
}

// A redirected request is the same request, but after 303.
func TestDatabase_redirected(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		got := ""
		real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, pass, _ := r.BasicAuth()
			body, _ := io.ReadAll(r.Body)
			got += fmt.Sprintf("%s %s %s %s %s;", r.Method, r.URL, user, body, r.Header.Get("Content-Type"))
			if user != "anna" || pass != "ge/heim" {
				t.Errorf("%d: credentials %q %q", status, user, pass)
			}
			fmt.Fprint(w, `{"instance_start_time":"7","rev":"0-1"}`)
		}))
		db := open(t, sending(t, real.URL, status), nil)
		start, err1 := db.Commit(t.Context())
		_, err2 := db.PutLocal(t.Context(), "x", []byte(`{"a":1}`))
		real.Close()
		want := `POST /db/_ensure_full_commit anna  application/json;PUT /db/_local/x anna {"a":1} application/json;`
		if status == 303 {
			want = `GET /db/_ensure_full_commit anna  ;GET /db/_local/x anna  ;`
		}
		if start != "7" || err1 != nil || err2 != nil || got != want {
			t.Errorf("%d: %v, %v\n%s", status, err1, err2, got)
		}
	}
}

// Another host gets no secrets: neither credentials, nor headers of the endpoint, nor what logs in.
func TestDatabase_redirectedAbroad(t *testing.T) {
	for _, sessions := range []bool{false, true} {
		var asked atomic.Int64
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			body, _ := io.ReadAll(r.Body)
			if text := fmt.Sprint(r.URL, r.Header, string(body)); r.Header.Get("Authorization") != "" ||
				strings.Contains(text, "ge/heim") || strings.Contains(text, "token") || strings.Contains(text, "cookie") {
				t.Errorf("another host gets %s", text)
			}
			fmt.Fprint(w, `{"update_seq":1,"instance_start_time":"0"}`)
		}))
		defer other.Close()
		s := sending(t, "http://other.example", http.StatusFound)
		address, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		d := spec.Standard()
		parsed, err := d.Parse(fmt.Appendf(nil, `{"target":"x","source":{"url":"http://anna:ge%%2Fheim@%s/db",
			"headers":{"X-Key":"token","Cookie":"cookie"}}}`, address.Host))
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			if to == "other.example:80" {
				to = other.Listener.Addr().String()
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		}}
		defer transport.CloseIdleConnections()
		o := couch.Options{Transport: transport, Timeout: time.Second, Sessions: sessions}
		db, err := couch.Open(&parsed.Source, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Info(t.Context()); err != nil || asked.Load() != 1 {
			t.Errorf("sessions %v: %d requests, %v", sessions, asked.Load(), err)
		}
		if _, err := db.Commit(t.Context()); err != nil || asked.Load() != 2 {
			t.Errorf("sessions %v: %d requests, %v", sessions, asked.Load(), err)
		}
	}
}

// An answer that says to go elsewhere, but not where to, is no success.
func TestDatabase_redirectedNowhere(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }))
	defer s.Close()
	err := open(t, s, nil).PutDocument(t.Context(), "d", []byte(`{"_id":"d"}`))
	if err == nil || !strings.Contains(err.Error(), "status 302") {
		t.Error(err)
	}
}

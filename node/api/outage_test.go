package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/kv/outage"
	"github.com/divandb/divan/node/api"
)

// While the store does not answer, requests are told so at once as soon as that is known, instead of waiting as the
// first ones do. Soon after it answers again, they are served.
func TestServer_StoreDoesNotAnswer(t *testing.T) {
	const patience = 10 * time.Second // how long faultkv lets each transaction wait
	var store faultkv.Engine
	var log syncBuffer
	s := serveConns(t, api.ConnLimits{}, func(e *embedded.Engine) kv.Engine {
		store = faultkv.New(e, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-12}})
		guarded := outage.Guard(store, outage.Options{Key: []byte("k"), Silence: 200 * time.Millisecond})
		t.Cleanup(func() { guarded.Close() })
		return guarded
	}, func(o *api.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/a", `{}`)
	status := func(method, path, body string) (int, time.Duration) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		begun := time.Now()
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode, time.Since(begun)
	}
	store.Hang()
	defer store.Resume()
	time.Sleep(2 * time.Second) // the guard asks every second
	begun := time.Now()
	for range 3 {
		for _, r := range [][3]string{{"GET", "/db/a", ""}, {"PUT", "/db/b", "{}"}, {"GET", "/db/_all_docs", ""},
			{"GET", "/db/_changes", ""}, {"POST", "/db/_bulk_docs", `{"docs":[{}]}`}, {"PUT", "/other", ""}} {
			if got, took := status(r[0], r[1], r[2]); got != http.StatusServiceUnavailable {
				t.Errorf("%s %s: %d after %v", r[0], r[1], got, took)
			}
		}
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("18 requests took %v: they waited", took)
	}
	store.Resume()
	begun = time.Now()
	for {
		if got, _ := status("GET", "/db/a", ""); got == http.StatusOK {
			break
		}
		if time.Since(begun) > 3*patience {
			t.Fatal("the store answers again, but the requests are not served")
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("served again after %v", time.Since(begun))
	if text := log.String(); strings.Contains(text, "request failed") {
		t.Errorf("requests are logged, but the node logs each outage once: %.500s", text)
	}
	if got, _ := status("PUT", "/db/c", "{}"); got != http.StatusCreated {
		t.Errorf("a write: %d", got)
	}
}

// syncBuffer is a buffer for concurrent writers.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

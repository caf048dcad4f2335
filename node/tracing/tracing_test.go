package tracing_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/tracing"
)

// log collects lines. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// request sends a request through a tracer.
func request(tracer *tracing.Tracer, header string) (traced bool) {
	h := tracer.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if ended := kv.Trace(r.Context(), kv.TracedTransaction); ended != nil {
			traced = true
			ended(kv.TraceEnd{Attempts: 1, Err: kv.NewError(kv.CodeTooOld, "too old", nil)})
		}
		tracing.Answered(r.Context(), r.Method, "/{db}", 200)
	}))
	r := httptest.NewRequest("PUT", "/db", nil)
	if header != "" {
		r.Header.Set("Traceparent", header)
	}
	h.ServeHTTP(httptest.NewRecorder(), r)
	return traced
}

func open(t *testing.T, endpoint string, sample int, l *log) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(t.Context(), tracing.Options{Endpoint: endpoint, Sample: sample, Node: "n", Version: "1",
		Log: slog.New(slog.NewTextHandler(l, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// A client decides whether its request is traced, and the sample decides for the others.
func TestTracer_sample(t *testing.T) {
	const yes, no = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for _, test := range []struct {
		sample int
		header string
		traced bool
	}{{1, "", true}, {1e9, "", false}, {1, no, false}, {1e9, yes, true}, {1, "nonsense", true}} {
		tracer := open(t, "http://127.0.0.1:1", test.sample, &log{})
		if got := request(tracer, test.header); got != test.traced {
			t.Errorf("one in %d, traceparent %q: %v", test.sample, test.header, got)
		}
		_ = tracer.Close(t.Context())
	}
	if request(nil, yes) {
		t.Error("a tracer that is off traces")
	}
}

// A collector that does not take spans is logged once, however many deliveries fail, and delays nothing.
func TestTracer_outage(t *testing.T) {
	var deliveries atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		deliveries.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer broken.Close()
	var l log
	tracer := open(t, broken.URL, 1, &l)
	for deliveries.Load() < 3 {
		for range 600 { // more than one delivery has
			request(tracer, "")
		}
	}
	if err := tracer.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Count(l.text.String(), "\n"); got != 1 || !strings.Contains(l.text.String(), "does not take") {
		t.Errorf("after %d deliveries the log has %q", deliveries.Load(), l.text.String())
	}
}

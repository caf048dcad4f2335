package replicate

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/node/replicate/spec"
)

// A node whose lease of a job has passed may claim the job again before the run that lost it has ended. That run then
// ends without hiding the new one from those who count runs or give their jobs to other nodes.
func TestManager_jobClaimedAgain(t *testing.T) {
	s := openStore(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	m := New(Options{Store: s, Node: "n", Settings: func() Settings {
		return Settings{MaxJobs: 10, MaxHistory: 5, Interval: time.Minute, Defaults: spec.Defaults{
			Protocols: []string{"http"}, Options: spec.Options{WorkerProcesses: 1, WorkerBatchSize: 10, HTTPConnections: 2,
				ConnectionTimeout: time.Minute, CheckpointInterval: time.Minute}}}
	}})
	data := layer.ReplicationJob{User: "u", Request: []byte(
		`{"source":"` + silent.URL + `/a","target":"` + silent.URL + `/b","continuous":true}`)}
	if err := s.Enqueue(t.Context(), layer.ReplicationJobs, "j", data.Encode()); err != nil {
		t.Fatal(err)
	}
	claimed := func() *layer.Job {
		t.Helper()
		for {
			c, err := s.Claim(t.Context(), layer.ReplicationJobs,
				layer.Worker{Name: "n", Life: "1", Lease: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if c.Job != nil {
				return c.Job
			}
			c.Watch.Cancel()
			time.Sleep(10 * time.Millisecond)
		}
	}
	runs := func() *run {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.running["j"]
	}
	begin := func(before *run) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		job := claimed()
		go func() {
			defer close(ended)
			m.Replicate(ctx, nil, job)
		}()
		for runs() == before {
			time.Sleep(time.Millisecond)
		}
		return func() { cancel(); <-ended }
	}
	endFirst := begin(nil)
	first := runs()
	endSecond := begin(first)
	second := runs()
	endFirst()
	if runs() != second {
		t.Error("the second run is not known any more")
	}
	endSecond()
	if runs() != nil {
		t.Error("a run that has ended is still known")
	}
}

func openStore(t *testing.T) *layer.Store {
	t.Helper()
	e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A run that fails ends at once, also while its source is asked how many changes are left and does not answer.
func TestManager_failsWhileSourceIsAsked(t *testing.T) {
	s := openStore(t)
	asked := make(chan struct{})
	var once sync.Once
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_changes") {
			once.Do(func() { close(asked) })
			<-r.Context().Done()
			return
		}
		select {
		case <-asked:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(source.Close)
	m := New(Options{Store: s, Node: "n", Settings: func() Settings {
		options := spec.Options{WorkerProcesses: 1, WorkerBatchSize: 10, HTTPConnections: 2,
			ConnectionTimeout: time.Hour, CheckpointInterval: time.Minute}
		return Settings{MaxJobs: 10, MaxHistory: 5, Interval: time.Minute,
			Defaults: spec.Defaults{Protocols: []string{"http"}, Options: options}}
	}})
	m.reportEvery, m.pendingWithin = 10*time.Millisecond, time.Hour
	data := layer.ReplicationJob{User: "u", Request: []byte(
		`{"source":"` + source.URL + `/a","target":"` + source.URL + `/b","continuous":true}`)}
	if err := s.Enqueue(t.Context(), layer.ReplicationJobs, "j", data.Encode()); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), layer.ReplicationJobs, layer.Worker{Name: "n", Life: "1", Lease: time.Hour})
	if err != nil || c.Job == nil {
		t.Fatalf("no job: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Replicate(t.Context(), nil, c.Job)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run has not ended")
	}
	select {
	case <-asked:
	default:
		t.Error("the source was not asked")
	}
	if n := m.Counts().Crashes; n != 1 {
		t.Errorf("%d runs have failed", n)
	}
}

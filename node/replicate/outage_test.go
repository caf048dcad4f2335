package replicate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// While the store does not answer, and shortly after, only what fails because of that is logged for developers.
func TestLevel(t *testing.T) {
	const silent = "The store is silent."
	away := true
	o := &Options{StoreAway: func(context.Context) bool { return away }, StoreSilent: silent}
	within := &spec.Spec{Source: spec.Endpoint{Local: "a"}, Target: spec.Endpoint{Local: "b"}}
	outside := &spec.Spec{Source: spec.Endpoint{Local: "a"}}
	for _, c := range []struct {
		spec   *spec.Spec
		reason string
		quiet  bool
	}{
		{within, "http_request_failed: GET a: status 503, service unavailable: " + silent, true},
		{outside, "http_request_failed: GET http://b/a: status 503, service unavailable: " + silent, true},
		{nil, "Could not open source database `a`: status 503, service unavailable: " + silent, true},
		{within, "http_request_failed: GET a/_changes: " + couch.CutOff, true},
		{outside, "http_request_failed: GET http://b/a/_changes: " + couch.CutOff, false},
		{within, "db_not_found: could not open a", false},
		{within, "changes_reader_died: status 403, forbidden: no", false},
		{nil, "Couldn't open document `_design/f` from source database `a`: not_found", false},
	} {
		r := &run{m: &Manager{o: *o}, spec: c.spec}
		if got := r.level(t.Context(), slog.LevelError, c.reason); (got == slog.LevelDebug) != c.quiet {
			t.Errorf("%s is logged at %s", c.reason, got)
		}
	}
	for err, quiet := range map[error]bool{
		kv.NewError(kv.CodeUnreachable, "no", nil):                  true,
		kv.NewError(kv.CodeTooOld, "lost", kv.ErrConnectionLost):    true,
		&layer.Error{Kind: layer.Unavailable, Reason: "not now"}:    true,
		kv.NewError(kv.CodeFileCorrupt, "damaged", nil):             false,
		kv.NewError(kv.CodeDiskFull, "full", nil):                   false,
		errors.New("another"):                                       false,
		&layer.Error{Kind: layer.NotFound, Reason: "it is deleted"}: false,
	} {
		if got := o.storeLevel(t.Context(), err); (got == slog.LevelDebug) != quiet {
			t.Errorf("%v is logged at %s", err, got)
		}
	}
	away = false
	if o.storeLevel(t.Context(), kv.NewError(kv.CodeUnreachable, "no", nil)) != slog.LevelWarn {
		t.Error("an error of a store that answers is not logged")
	}
}

// An outage of the node's own store is no failure of a replication, however many requests it may repeat and whichever
// of them fails: it waits, and then goes on. That is so too if the run ends, because it was cut off, and not because of
// the store's silence.
func TestManager_outage(t *testing.T) {
	const silent = "The store is silent."
	for _, c := range []struct {
		name    string
		answers int // before the store is away
		refused int // then
		end     string
	}{
		{"at the first request", 0, 3, ""}, {"at the second request", 1, 3, ""}, {"at a later request", 4, 3, ""},
		{"the run ends", 1, 1, couch.CutOff},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openStore(t)
			var mu sync.Mutex
			asked, refused := 0, 0
			m := New(Options{Store: s, Node: "n", StoreSilent: silent,
				Settings: func() Settings {
					return Settings{MaxJobs: 10, MaxHistory: 50, Interval: time.Minute, HealthThreshold: time.Minute,
						Defaults: spec.Defaults{Options: spec.Options{WorkerProcesses: 1, WorkerBatchSize: 10,
							HTTPConnections: 2, ConnectionTimeout: time.Minute, CheckpointInterval: time.Minute}}}
				},
				Notify:    func(f Failed) { t.Errorf("it is told that it failed: %+v", f) },
				StoreAway: func(context.Context) bool { return true },
				Outlast:   func(context.Context) bool { return c.end == "" }, // else it answers again by now
				Local: func(layer.UserCtx, bool) http.RoundTripper {
					return answers(func(w http.ResponseWriter, r *http.Request) {
						mu.Lock()
						defer mu.Unlock()
						if asked++; asked > c.answers && refused < c.refused {
							refused++
							if w.WriteHeader(http.StatusServiceUnavailable); c.end == "" {
								fmt.Fprintf(w, `{"error":"service unavailable","reason":%q}`, silent)
							} else {
								fmt.Fprintf(w, `{"error":"http_request_failed","reason":%q}`, c.end)
							}
							return
						}
						switch {
						case r.URL.Path == "/a/_changes":
							fmt.Fprint(w, `{"results":[],"last_seq":"0"}`)
						case r.URL.Path == "/a/" || r.URL.Path == "/b/":
							fmt.Fprint(w, `{"update_seq":"0","instance_start_time":"0"}`)
						case r.Method == http.MethodPost:
							fmt.Fprint(w, `{"ok":true,"instance_start_time":"0"}`)
						case r.Method == http.MethodPut:
							fmt.Fprint(w, `{"ok":true,"id":"x","rev":"0-1"}`)
						default:
							w.WriteHeader(http.StatusNotFound)
							fmt.Fprint(w, `{"error":"not_found","reason":"missing"}`)
						}
					})
				}})
			data := layer.ReplicationJob{User: "u", Request: []byte(`{"source":"a","target":"b"}`)}
			if err := s.Enqueue(t.Context(), layer.ReplicationJobs, "j", data.Encode()); err != nil {
				t.Fatal(err)
			}
			for {
				claimed, err := s.Claim(t.Context(), layer.ReplicationJobs,
					layer.Worker{Name: "n", Life: "1", Lease: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if claimed.Job == nil { // it is complete
					claimed.Watch.Cancel()
					break
				}
				m.Replicate(t.Context(), nil, claimed.Job)
			}
			job, watch, err := s.Job(t.Context(), layer.ReplicationJobs, "j")
			if err != nil {
				t.Fatal(err)
			}
			watch.Cancel()
			rec := parseRecord(job.Progress)
			n := m.Counts()
			if job.State != layer.JobFinished || rec.Result == nil || rec.Fault != nil || rec.Errors != 0 ||
				n.Crashes != 0 || n.Completed != 1 || refused != c.refused {
				t.Errorf("refused %d times of %d, %+v, %s, %s", refused, asked, n, job.State, job.Progress)
			}
			for _, e := range rec.History {
				if e.Type == "crashed" {
					t.Errorf("the history has %+v", e)
				}
			}
		})
	}
}

// answers is a transport whose answers a function writes.
type answers func(http.ResponseWriter, *http.Request)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a(w, r)
	return w.Result(), nil
}

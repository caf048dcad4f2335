package layer_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// With commits whose result is unknown, every job is claimed once, its worker knows that it has it, and its end is
// recorded once.
func TestStore_Jobs_faults(t *testing.T) {
	s, faulty := mustFaulty(t,
		faultkv.Options{Rates: faultkv.Rates{UnknownLost: 0.15, UnknownCommitted: 0.15, Conflict: 0.05, TooOld: 0.01}})
	const jobs = 30
	for i := range jobs {
		enqueue(t, s, fmt.Sprint(i))
	}
	var claimed sync.Map
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for {
				j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: fmt.Sprint("w", w), Lease: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				if j == nil {
					return
				}
				if other, twice := claimed.LoadOrStore(j.ID, w); twice {
					t.Errorf("job %s was claimed by %d and by %v", j.ID, w, other)
				}
				if err := s.Renew(t.Context(), j, []byte(`{"half":true}`)); err != nil {
					t.Errorf("renew %s: %v", j.ID, err)
				}
				if err := s.Finish(t.Context(), j, nil); err != nil {
					t.Errorf("finish %s: %v", j.ID, err)
				}
			}
		})
	}
	workers.Wait()
	done := 0
	for j, err := range s.Jobs(t.Context()) {
		if err != nil || j.State != layer.JobFinished || j.Failures != 0 || string(j.Progress) != `{"half":true}` {
			t.Errorf("%+v, %v", j, err)
		}
		done++
	}
	if n := faulty.Injected(); done != jobs || n[faultkv.UnknownCommitted] == 0 || n[faultkv.UnknownLost] == 0 {
		t.Errorf("%d jobs, faults %v", done, n)
	}
}

// A job with a start time is not claimed before it. Enqueuing it for an earlier time brings it forward; a later time
// does not delay it.
func TestStore_EnqueueAt(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	at := func(in time.Duration) {
		t.Helper()
		if err := s.EnqueueAfter(t.Context(), "t", "a", nil, in); err != nil {
			t.Fatal(err)
		}
	}
	at(time.Hour)
	w, next, err := s.WatchJobs(t.Context(), "t", layer.Worker{})
	if err != nil || next == nil || time.Until(next.At) < 50*time.Minute {
		t.Fatalf("next %+v, %v", next, err)
	}
	if j := claim(t, s, time.Minute); j != nil {
		t.Errorf("claimed %+v before its time", j)
	}
	at(2 * time.Hour)
	if _, next, err = s.WatchJobs(t.Context(), "t", layer.Worker{}); err != nil ||
		time.Until(next.At) > 70*time.Minute {
		t.Errorf("put off: %+v, %v", next, err)
	}
	at(0)
	<-w.Done() // waiters for the queue are woken
	if j := claim(t, s, time.Minute); j == nil {
		t.Error("not claimed at its time")
	}
}

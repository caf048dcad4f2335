package layer_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// Records of finished jobs are removed after a while, by several sweeping nodes at once, in transactions of limited
// size. Jobs that wait or run, or that were enqueued again, stay.
func TestStore_sweepsFinishedJobs(t *testing.T) {
	engine := mustEngine(t)
	s := mustStore(t, engine, layer.Options{})
	other, err := layer.Open(t.Context(), engine, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const finished = 120
	finish := func(runErr error) {
		t.Helper()
		if err := s.Finish(t.Context(), claim(t, s, time.Hour), runErr); err != nil {
			t.Fatal(err)
		}
	}
	for i := range finished {
		enqueue(t, s, fmt.Sprint("done", i))
		finish(nil)
	}
	enqueue(t, s, "failed")
	finish(errors.New("no"))
	enqueue(t, s, "done7") // again
	enqueue(t, s, "runs")
	runs := map[string]bool{claim(t, s, time.Hour).ID: true, claim(t, s, time.Hour).ID: true}
	enqueue(t, s, "waits")
	states := func() map[string]layer.JobState {
		t.Helper()
		all := map[string]layer.JobState{}
		for j, err := range s.Jobs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all[j.ID] = j.State
		}
		return all
	}
	if err := layer.SweepJobs(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	if n := len(states()); n != finished+3 {
		t.Fatalf("%d jobs are left at once after they have finished", n)
	}
	var sweeps sync.WaitGroup
	for _, node := range []*layer.Store{s, other} {
		sweeps.Go(func() {
			if err := layer.SweepJobs(t.Context(), node, time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	sweeps.Wait()
	left := states()
	if len(left) != 4 || left["failed"] != layer.JobPending || left["waits"] != layer.JobPending {
		t.Errorf("left are %v", left)
	}
	for id := range runs {
		if left[id] != layer.JobRunning {
			t.Errorf("%s is %q", id, left[id])
		}
	}
	// A removed job that is enqueued again is a new one with a greater token.
	enqueue(t, s, "done8")
	j, watch, err := s.Job(t.Context(), "t", "done8")
	if err != nil || j == nil || j.State != layer.JobPending {
		t.Fatalf("enqueued again: %+v, %v", j, err)
	}
	watch.Cancel()
}

// Jobs that no worker would ever take, since they wait without an entry in the queue or run without a heartbeat, as an
// earlier version could leave them, are put into the queue. Others stay as they are.
func TestStore_requeuesStrayJobs(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	for _, id := range []string{"runs", "lost beat"} {
		enqueue(t, s, id)
		if j := claim(t, s, time.Hour); j == nil || j.ID != id {
			t.Fatalf("claimed %+v", j)
		}
	}
	for _, id := range []string{"lost entry", "waits"} {
		enqueue(t, s, id)
	}
	clearJob := func(key []byte) {
		t.Helper()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		tx.Clear(key)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	clearJob(layer.JobKey(s, "t", 3, "lost beat"))
	key, err := layer.QueueKey(t.Context(), s, "t", "lost entry")
	if err != nil {
		t.Fatal(err)
	}
	clearJob(key)
	taken := func(most int) (ids []string) {
		t.Helper()
		for range most {
			j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: "b", Life: "1", Lease: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if j != nil {
				ids = append(ids, j.ID)
			}
		}
		slices.Sort(ids)
		return ids
	}
	if got := taken(4); !slices.Equal(got, []string{"waits"}) {
		t.Fatalf("taken: %q", got)
	}
	layer.Later(s, 2*time.Minute)
	if err := layer.SweepJobs(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	if got := taken(4); !slices.Equal(got, []string{"lost beat", "lost entry"}) {
		t.Errorf("taken after a sweep: %q", got)
	}
}

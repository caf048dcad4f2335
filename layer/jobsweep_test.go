package layer_test

import (
	"errors"
	"fmt"
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

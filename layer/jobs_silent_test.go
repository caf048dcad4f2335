package layer_test

import (
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// A worker that may take no more jobs lets those of a dead worker wait: they are shown as what they are, and whoever is
// free hears of them and takes them at once.
func TestStore_Release(t *testing.T) {
	e := mustEngine(t)
	s, free := mustStore(t, e, layer.Options{}), anotherStore(t, e)
	dead := layer.Worker{Name: "dead", Life: "1", Lease: 100 * time.Millisecond}
	for _, id := range []string{"one", "two"} {
		enqueue(t, s, id)
		if j, err := layer.ClaimJob(t.Context(), s, "t", dead); err != nil || j == nil {
			t.Fatalf("claimed %+v, %v", j, err)
		}
	}
	watch, _, err := free.WatchJobs(t.Context(), "t", layer.Worker{Name: "free", Life: "1", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Cancel()
	full := layer.Worker{Name: "full", Life: "1", Lease: time.Minute}
	for {
		next, err := s.Release(t.Context(), "t", full)
		if err != nil {
			t.Fatal(err)
		}
		if next.IsZero() {
			break
		}
		if in := time.Until(next); in > dead.Lease {
			t.Fatalf("leases of %v are to be checked again in %v", dead.Lease, in)
		}
		time.Sleep(time.Until(next))
	}
	select {
	case <-watch.Done():
	case <-time.After(5 * time.Second):
		t.Error("a free worker did not hear of the jobs")
	}
	for j, err := range s.Jobs(t.Context()) {
		if err != nil || j.State != layer.JobPending || j.Worker != "" {
			t.Errorf("a job of a dead worker is shown as %+v, %v", j, err)
		}
	}
	for range 2 {
		j, err := layer.ClaimJob(t.Context(), free, "t", layer.Worker{Name: "free", Life: "1", Lease: time.Minute})
		if err != nil || j == nil || j.TakenFrom != "dead" {
			t.Errorf("the free worker takes %+v, %v", j, err)
		}
	}
}

// Many leases are renewed together. Jobs that others have taken are told, and the rest is renewed.
func TestStore_RenewAll(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	w := layer.Worker{Name: "a", Life: "1", Lease: 200 * time.Millisecond}
	held := map[string]*layer.Job{}
	var list []*layer.Job
	for _, id := range []string{"kept", "removed", "ended"} {
		enqueue(t, s, id)
		j, err := layer.ClaimJob(t.Context(), s, "t", w)
		if err != nil || j == nil {
			t.Fatalf("claimed %+v, %v", j, err)
		}
		held[j.ID], list = j, append(list, j)
	}
	if err := s.RemoveJob(t.Context(), "t", "removed"); err != nil {
		t.Fatal(err)
	}
	ended := *held["ended"]
	if err := s.Finish(t.Context(), &ended, nil); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * w.Lease); time.Now().Before(end); time.Sleep(w.Lease / 10) {
		lost, err := s.RenewAll(t.Context(), list)
		if err != nil || len(lost) != 2 || lost[0].ID == "kept" || lost[1].ID == "kept" {
			t.Fatalf("lost %v, %v", lost, err)
		}
		if _, err := s.Release(t.Context(), "t", layer.Worker{Name: "b", Life: "1", Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	if j, w, err := s.Job(t.Context(), "t", "kept"); err != nil || j.Worker != "a" {
		t.Errorf("a job whose lease was renewed is %+v, %v", j, err)
	} else {
		w.Cancel()
	}
}

// What a job reports does not keep the leases from being renewed that are renewed together with its own. Only the
// worker that has it may report.
func TestStore_Report(t *testing.T) {
	e := &between{Engine: mustEngine(t)}
	s := mustStore(t, e, layer.Options{})
	var list []*layer.Job
	for _, id := range []string{"a", "b", "c"} {
		enqueue(t, s, id)
		j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: "w", Life: "1", Lease: time.Minute})
		if err != nil || j == nil {
			t.Fatalf("claimed %+v, %v", j, err)
		}
		list = append(list, j)
	}
	mine := *list[1]
	reports := 0
	for _, report := range []func() error{
		func() error { return s.Report(t.Context(), &mine, []byte(`{"n":1}`)) },
		func() error { return s.Recovered(t.Context(), &mine, []byte(`{"n":2}`)) },
	} {
		e.do = func() {
			reports++
			if err := report(); err != nil {
				t.Error(err)
			}
			e.armed.Store(true) // a transaction that is repeated reports once more
		}
		e.armed.Store(true)
		if lost, err := s.RenewAll(t.Context(), list); err != nil || len(lost) > 0 {
			t.Errorf("lost %v, %v", lost, err)
		}
		e.armed.Store(false)
	}
	// With injected faults, a renewal is sometimes repeated for another reason than the report.
	if reports < 2 || reports > 2 && !faultkv.Enabled() {
		t.Errorf("%d transactions of two renewals, with a report during each", reports)
	}
	if j, w, err := s.Job(t.Context(), "t", "b"); err != nil || string(j.Progress) != `{"n":2}` {
		t.Errorf("reported: %+v, %v", j, err)
	} else {
		w.Cancel()
	}
	if err := s.Finish(t.Context(), list[1], nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Report(t.Context(), &mine, []byte(`{"n":3}`)); layer.KindOf(err) != layer.Conflict {
		t.Errorf("a report of a job that has ended: %v", err)
	}
}

// A job whose record cannot be read hides no others, keeps none from being taken, and can be removed or replaced.
func TestStore_Jobs_damaged(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	for _, id := range []string{"damaged", "dropped", "sound"} {
		enqueue(t, s, id)
	}
	damage := func(part int64, id, with string) {
		t.Helper()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		tx.Set(layer.JobKey(s, "t", part, id), []byte(with))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	damage(0, "damaged", "\xff{garbage")
	damage(0, "dropped", "{}")
	states := map[string]layer.JobState{}
	for j, err := range s.Jobs(t.Context()) {
		if err != nil || j.Type != "t" {
			t.Fatalf("job %+v, %v", j, err)
		}
		states[j.ID] = j.State
	}
	if len(states) != 3 || states["damaged"] != layer.JobDamaged || states["sound"] != layer.JobPending {
		t.Errorf("the jobs are %v", states)
	}
	if err := s.RemoveJob(t.Context(), "t", "dropped"); err != nil {
		t.Error(err)
	}
	w := layer.Worker{Name: "a", Life: "1", Lease: 100 * time.Millisecond}
	j, err := layer.ClaimJob(t.Context(), s, "t", w)
	if err != nil || j == nil || j.ID != "sound" {
		t.Fatalf("beside damaged jobs, %+v is claimed, %v", j, err)
	}
	damage(3, "sound", "\xff") // its heartbeat
	if lost, err := s.RenewAll(t.Context(), []*layer.Job{j}); err != nil || len(lost) != 1 {
		t.Errorf("with a damaged heartbeat, %v are lost, %v", lost, err)
	}
	enqueue(t, s, "damaged")
	j, err = layer.ClaimJob(t.Context(), s, "t", w)
	if err != nil || j == nil || j.ID != "damaged" {
		t.Errorf("a damaged job that is asked for again: %+v, %v", j, err)
	}
	states = map[string]layer.JobState{}
	for j, err := range s.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		states[j.ID] = j.State
	}
	if len(states) != 2 || states["damaged"] != layer.JobRunning || states["sound"] != layer.JobRunning {
		t.Errorf("the jobs are %v", states)
	}
}

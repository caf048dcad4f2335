package layer_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

func claim(tb testing.TB, s *layer.Store, lease time.Duration) *layer.Job {
	tb.Helper()
	j, err := layer.ClaimJob(tb.Context(), s, "t", layer.Worker{Name: "worker", Life: "1", Lease: lease})
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

func enqueue(tb testing.TB, s *layer.Store, id string) {
	tb.Helper()
	if err := s.Enqueue(tb.Context(), "t", id, []byte(`{"for":"`+id+`"}`)); err != nil {
		tb.Fatal(err)
	}
}

func TestStore_Jobs(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	if j := claim(t, s, time.Minute); j != nil {
		t.Fatalf("claimed %+v from an empty queue", j)
	}
	enqueue(t, s, "a")
	enqueue(t, s, "a") // the same job
	enqueue(t, s, "b")
	a, b := claim(t, s, time.Minute), claim(t, s, time.Minute)
	if a.ID != "a" || b.ID != "b" || string(a.Data) != `{"for":"a"}` || a.State != layer.JobRunning {
		t.Fatalf("claimed %+v, %+v", a, b)
	}
	if j := claim(t, s, time.Minute); j != nil {
		t.Fatalf("a third job: %+v", j)
	}
	if err := s.Renew(t.Context(), a, []byte(`{"done":1}`)); err != nil || string(a.Progress) != `{"done":1}` {
		t.Fatalf("renewed: %+v, %v", a, err)
	}
	enqueue(t, s, "a") // while it runs: it runs again afterwards
	token := a.Token
	if err := s.GiveBack(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if a = claim(t, s, time.Minute); a == nil || string(a.Progress) != `{"done":1}` {
		t.Fatalf("taken up again: %+v", a)
	}
	enqueue(t, s, "a")
	if err := s.Finish(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	if a = claim(t, s, time.Minute); a == nil || a.ID != "a" || a.Token <= token || a.Progress != nil {
		t.Fatalf("not run again: %+v", a)
	}
	a.Progress = []byte(`{"done":2}`)
	if err := s.Finish(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	done, watch, err := s.Job(t.Context(), "t", "a")
	if err != nil || done.State != layer.JobFinished || string(done.Progress) != `{"done":2}` {
		t.Fatalf("the finished job is %+v, %v", done, err)
	}
	watch.Cancel()
	if err := s.Finish(t.Context(), b, errors.New("broken")); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, s, time.Minute); j != nil {
		t.Fatalf("a failed job is claimed without a pause: %+v", j)
	}
	j, w, err := s.Job(t.Context(), "t", "b")
	if err != nil || j.State != layer.JobPending || j.Failures != 1 || j.Error != "broken" || !j.Due.After(time.Now()) {
		t.Fatalf("the failed job is %+v, %v", j, err)
	}
	enqueue(t, s, "b") // a new request: no pause
	<-w.Done()
	if b = claim(t, s, time.Minute); b == nil || b.ID != "b" {
		t.Fatalf("not claimed: %+v", b)
	}
	var states []string
	for j, err := range s.Jobs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, fmt.Sprint(j.ID, " ", j.State, " ", j.Lease))
	}
	if fmt.Sprint(states) != "[a finished 0s b running 1m0s]" {
		t.Errorf("jobs %v", states)
	}
}

// A job is as old as what asked for it first: retries do not make it younger, a request after its end does.
func TestStore_Jobs_created(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	created := func() time.Time {
		t.Helper()
		j, _, err := s.Job(t.Context(), "t", "a")
		if err != nil {
			t.Fatal(err)
		}
		return j.Created
	}
	before := time.Now().Add(-time.Second)
	enqueue(t, s, "a")
	first := created()
	if first.Before(before) || first.After(time.Now().Add(time.Second)) {
		t.Fatalf("created at %v", first)
	}
	time.Sleep(2 * time.Millisecond)
	if err := s.Finish(t.Context(), claim(t, s, time.Minute), errors.New("broken")); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, "a")
	if got := created(); !got.Equal(first) {
		t.Errorf("after a failure and a second request: created at %v, first %v", got, first)
	}
	if err := s.Finish(t.Context(), claim(t, s, time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, "a")
	if got := created(); !got.After(first) {
		t.Errorf("after its end: created at %v, first %v", got, first)
	}
}

// A worker whose lease has expired loses its job to another worker, and notices before it writes.
func TestStore_Claim_afterLease(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	enqueue(t, s, "a")
	dead := claim(t, s, time.Millisecond)
	heir := takeOver(t, s, layer.Worker{Name: "worker", Life: "1", Lease: time.Minute})
	if heir == nil || heir.ID != "a" || heir.Token <= dead.Token || heir.TakenFrom != dead.Worker {
		t.Fatalf("claimed %+v after %+v", heir, dead)
	}
	for name, err := range map[string]error{
		"renew":  s.Renew(t.Context(), dead, nil),
		"finish": s.Finish(t.Context(), dead, nil),
	} {
		if layer.KindOf(err) != layer.Conflict {
			t.Errorf("%s of the lost job: %v", name, err)
		}
	}
	if err := s.RemoveJob(t.Context(), "t", "a"); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, "a")
	if again := claim(t, s, time.Minute); again == nil || again.Token <= heir.Token {
		t.Errorf("token of the recreated job: %+v, before %d", again, heir.Token)
	}
}

// The failures of a job are forgotten when a run of it ends well, and when it says that it goes well.
func TestStore_Recovered(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	enqueue(t, s, "a")
	failing := claim(t, s, time.Minute)
	if err := s.Postpone(t.Context(), failing, 0, errors.New("no")); err != nil {
		t.Fatal(err)
	}
	next := claim(t, s, time.Minute)
	if err := s.Renew(t.Context(), next, []byte(`{"n":1}`)); err != nil || next.Failures != 1 {
		t.Fatalf("renewed: %+v, %v", next, err)
	}
	if err := s.Recovered(t.Context(), next, []byte(`{"n":2}`)); err != nil {
		t.Fatal(err)
	}
	stored, w, err := s.Job(t.Context(), "t", "a")
	if err != nil {
		t.Fatal(err)
	}
	w.Cancel()
	for _, j := range []*layer.Job{next, stored} {
		if j.Failures != 0 || j.Error != "" || string(j.Progress) != `{"n":2}` || j.State != layer.JobRunning {
			t.Errorf("after it went well: %+v", j)
		}
	}
	if layer.KindOf(s.Recovered(t.Context(), failing, nil)) != layer.Conflict {
		t.Error("a run that has ended recovers")
	}
}

// A job says when it failed last, whatever is written of it since, and whether it has advanced since then.
func TestStore_Jobs_failedAt(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	stored := func() *layer.Job {
		t.Helper()
		j, w, err := s.Job(t.Context(), "t", "a")
		if err != nil {
			t.Fatal(err)
		}
		w.Cancel()
		return j
	}
	enqueue(t, s, "a")
	for name, fail := range map[string]func(*layer.Job) error{
		"finish":   func(j *layer.Job) error { return s.Finish(t.Context(), j, errors.New("no")) },
		"postpone": func(j *layer.Job) error { return s.Postpone(t.Context(), j, 0, errors.New("no")) },
	} {
		before := time.Now().Add(-time.Millisecond)
		if err := fail(claim(t, s, time.Minute)); err != nil {
			t.Fatal(err)
		}
		failed := stored().FailedAt
		if failed.Before(before) || failed.After(time.Now()) {
			t.Fatalf("%s: failed at %v", name, failed)
		}
		time.Sleep(2 * time.Millisecond)
		enqueue(t, s, "a")
		j := claim(t, s, time.Minute)
		for _, advanced := range []bool{false, true, false} {
			run := *j
			run.Advanced = advanced
			if err := s.Renew(t.Context(), &run, []byte(`{"n":1}`)); err != nil {
				t.Fatal(err)
			}
			now := stored()
			if !now.FailedAt.Equal(failed) || !now.Updated.After(failed) || now.Failures == 0 {
				t.Errorf("%s: renewed: %+v", name, now)
			}
			if advanced && !now.Advanced {
				t.Errorf("%s: it has not advanced: %+v", name, now)
			}
		}
		if !stored().Advanced {
			t.Errorf("%s: it forgets that it has advanced", name)
		}
		if err := fail(j); err != nil {
			t.Fatal(err)
		}
		if now := stored(); now.Advanced || !now.FailedAt.After(failed) {
			t.Errorf("%s: failed again: %+v", name, now)
		}
		enqueue(t, s, "a")
	}
	j := claim(t, s, time.Minute)
	j.Progress = []byte(`{}`)
	if err := s.Finish(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	if now := stored(); !now.FailedAt.IsZero() || now.Advanced || now.Error != "" || now.Failures != 0 {
		t.Errorf("done: %+v", now)
	}
}

// A worker leaves another worker's jobs to that worker for a while, and takes its own even if they are behind them.
func TestStore_Claim_grace(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	for _, id := range []string{"other-1", "mine", "other-2"} {
		enqueue(t, s, id)
	}
	leaves := func(grace time.Duration) layer.Worker {
		return layer.Worker{Name: "w", Lease: 24 * time.Hour, Grace: func(id string) time.Duration {
			if id == "mine" {
				return 0
			}
			return grace
		}}
	}
	for _, c := range []struct {
		grace time.Duration
		next  string
		in    time.Duration
		want  string
	}{
		{time.Hour, "mine", 0, "mine"},
		{2 * time.Hour, "other-1", 2 * time.Hour, ""},
		{0, "other-1", 0, "other-1"},
		{-time.Minute, "other-2", 0, "other-2"},
	} {
		w, next, err := s.WatchJobs(t.Context(), "t", leaves(c.grace))
		if err != nil {
			t.Fatal(err)
		}
		w.Cancel()
		if in := time.Until(next.At); next.ID != c.next || in > c.in || in < c.in-time.Minute*2 {
			t.Errorf("next is %+v, in %v; want %s in %v", next, in, c.next, c.in)
		}
		j, err := layer.ClaimJob(t.Context(), s, "t", leaves(c.grace))
		if err != nil {
			t.Fatal(err)
		}
		if got := (func() string {
			if j == nil {
				return ""
			}
			return j.ID
		})(); got != c.want {
			t.Errorf("with a grace of %v: claimed %q, want %q", c.grace, got, c.want)
		}
	}
}

// A job that is not the first of the queue, since those before it are left to another worker, is claimed without
// touching the entry of another one, and so is one whose worker is dead. The engine reuses the memory of rows, as it
// may.
func TestStore_Claim_behindOthers(t *testing.T) {
	const jobs = 20
	e := faultkv.New(mustEngine(t), faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
	s := mustStore(t, e, layer.Options{})
	for i := range jobs {
		enqueue(t, s, fmt.Sprintf("%02d", i))
	}
	left := map[string]bool{} // to others
	for i := range jobs / 2 {
		left[fmt.Sprintf("%02d", i)] = true
	}
	take := func(w layer.Worker, want int) {
		t.Helper()
		for n := range want {
			j, err := layer.ClaimJob(t.Context(), s, "t", w)
			if err != nil || j == nil {
				t.Fatalf("%s has %d of %d jobs: %+v, %v", w.Name, n, want, j, err)
			}
		}
	}
	take(layer.Worker{Name: "a", Life: "1", Lease: time.Minute, Grace: func(id string) time.Duration {
		if left[id] {
			return time.Hour
		}
		return 0
	}}, jobs/2)
	take(layer.Worker{Name: "b", Life: "1", Lease: time.Millisecond}, jobs/2)
	list := func() (running []string) {
		for j, err := range s.Jobs(t.Context()) {
			if err != nil || j.State != layer.JobRunning {
				t.Fatalf("listed %+v, %v", j, err)
			}
			running = append(running, j.ID+j.Worker)
		}
		return running
	}
	if n := len(list()); n != jobs {
		t.Errorf("%d jobs run", n)
	}
	heir := layer.Worker{Name: "c", Life: "1", Lease: time.Minute, Gone: func(w string) bool { return w == "b" }}
	for range jobs / 2 {
		takeOver(t, s, heir)
	}
	for _, j := range list() {
		if strings.HasSuffix(j, "b") {
			t.Errorf("%s still runs", j)
		}
	}
}

// With many workers, every job is claimed once.
func TestStore_Claim_once(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	const jobs = 40
	for i := range jobs {
		enqueue(t, s, fmt.Sprint(i))
	}
	var claimed sync.Map
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				j, err := layer.ClaimJob(t.Context(), s, "t", layer.Worker{Name: "w", Lease: time.Minute})
				if err != nil {
					t.Error(err)
				}
				if j == nil {
					return
				}
				if _, twice := claimed.LoadOrStore(j.ID, true); twice {
					t.Errorf("job %s was claimed twice", j.ID)
				}
			}
		})
	}
	workers.Wait()
	n := 0
	claimed.Range(func(any, any) bool { n++; return true })
	if n != jobs {
		t.Errorf("%d of %d jobs were claimed", n, jobs)
	}
}

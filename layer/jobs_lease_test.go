package layer_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// takeOver polls the queue like a worker until it gets the job.
func takeOver(tb testing.TB, s *layer.Store, worker layer.Worker) *layer.Job {
	tb.Helper()
	for {
		w, next, err := s.WatchJobs(tb.Context(), "t", worker)
		if err != nil {
			tb.Fatal(err)
		}
		w.Cancel()
		if next == nil {
			tb.Fatal("there is no job")
		}
		select {
		case <-tb.Context().Done():
			tb.Fatal(tb.Context().Err())
		case <-time.After(time.Until(next.At)):
		}
		j, err := layer.ClaimJob(tb.Context(), s, "t", worker)
		if err != nil {
			tb.Fatal(err)
		}
		if j != nil {
			return j
		}
	}
}

// anotherStore opens another node's store, in addition to one of mustStore.
func anotherStore(tb testing.TB, e kv.Engine) *layer.Store {
	tb.Helper()
	s, err := layer.Open(tb.Context(), e, layer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// The clocks of other nodes do not matter: not for a job that is enqueued, not for one whose worker died, not for one
// that failed.
func TestStore_Jobs_clocksApart(t *testing.T) {
	e := mustEngine(t)
	slow, fast := mustStore(t, e, layer.Options{}), anotherStore(t, e)
	layer.SetWall(slow, -time.Hour)
	layer.SetWall(fast, time.Hour)
	for name, nodes := range map[string][2]*layer.Store{"from fast to slow": {fast, slow},
		"from slow to fast": {slow, fast}} {
		t.Run(name, func(t *testing.T) {
			from, to := nodes[0], nodes[1]
			a, b := layer.Worker{Name: "a", Life: "1", Lease: 100 * time.Millisecond},
				layer.Worker{Name: "b", Life: "1", Lease: time.Minute}
			enqueue(t, from, name)
			j, err := layer.ClaimJob(t.Context(), to, "t", b)
			if err != nil || j == nil {
				t.Fatalf("a job enqueued on one node is %+v on the other, %v", j, err)
			}
			if err := to.GiveBack(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			dead, err := layer.ClaimJob(t.Context(), from, "t", a)
			if err != nil || dead == nil {
				t.Fatalf("a job given back on one node is %+v on the other, %v", dead, err)
			}
			if heir := takeOver(t, to, b); heir.Token <= dead.Token || heir.Worker != "b" {
				t.Errorf("taken over: %+v", heir)
			}
			if err := from.Renew(t.Context(), dead, nil); layer.KindOf(err) != layer.Conflict {
				t.Errorf("the lost job is renewed: %v", err)
			}
			heir, _, err := to.Job(t.Context(), "t", name)
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Finish(t.Context(), heir, errInjectedJob); err != nil {
				t.Fatal(err)
			}
			w, next, err := from.WatchJobs(t.Context(), "t", a)
			if err != nil {
				t.Fatal(err)
			}
			w.Cancel()
			if in := time.Until(next.At); in > time.Second {
				t.Errorf("a failed job is tried again in %v", in)
			}
			if err := from.RemoveJob(t.Context(), "t", name); err != nil {
				t.Fatal(err)
			}
		})
	}
}

var errInjectedJob = &layer.Error{Kind: layer.Unavailable, Reason: "injected"}

// Grace is counted from the moment when a job is enqueued, also if nothing has been written for long before.
func TestStore_Claim_graceInAnIdleStore(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	enqueue(t, s, "first")
	if err := s.Finish(t.Context(), claim(t, s, time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	const grace = 300 * time.Millisecond
	time.Sleep(grace) // the store is idle
	begun := time.Now()
	enqueue(t, s, "second")
	j := takeOver(t, s, layer.Worker{Name: "w", Lease: time.Minute, Grace: func(string) time.Duration { return grace }})
	if took := time.Since(begun); j.ID != "second" || took < grace*2/3 {
		t.Errorf("%s was claimed after %v", j.ID, took)
	}
}

// Continued heartbeats keep a job, whatever the time between checks. A single check after a long time is not enough to
// lose it.
func TestStore_Claim_heartbeat(t *testing.T) {
	e := mustEngine(t)
	s, other := mustStore(t, e, layer.Options{}), anotherStore(t, e)
	enqueue(t, s, "a")
	j := claim(t, s, 10*time.Millisecond)
	b := layer.Worker{Name: "b", Life: "1", Lease: time.Minute}
	look := func() *layer.DueJob {
		t.Helper()
		w, next, err := other.WatchJobs(t.Context(), "t", b)
		if err != nil {
			t.Fatal(err)
		}
		w.Cancel()
		return next
	}
	for i := range 20 {
		if err := s.Renew(t.Context(), j, nil); err != nil {
			t.Fatal(err)
		}
		before := time.Now() // a busy machine may pause after the check
		if next := look(); !next.At.After(before) && i > 0 {
			t.Errorf("a job with a heartbeat is due since %v", next.At)
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
	}
	if taken, err := layer.ClaimJob(t.Context(), other, "t", b); taken != nil || err != nil {
		t.Errorf("taken after one long pause between looks: %+v, %v", taken, err)
	}
	if heir := takeOver(t, other, b); heir.Token <= j.Token {
		t.Errorf("taken over: %+v", heir)
	}
}

// The jobs of a worker that is known to have ended, and of an earlier process of the same node, are taken over long
// before their lease ends, but not while their heartbeats continue.
func TestStore_Claim_gone(t *testing.T) {
	for name, worker := range map[string]layer.Worker{
		"it left the cluster": {Name: "b", Life: "1", Lease: time.Minute, Gone: func(w string) bool {
			return w == "worker"
		}},
		"it was an earlier life": {Name: "worker", Life: "2", Lease: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustStore(t, mustEngine(t), layer.Options{})
			enqueue(t, s, "a")
			const lease = 3 * time.Second
			j := claim(t, s, lease)
			for range 3 {
				if err := s.Renew(t.Context(), j, nil); err != nil {
					t.Fatal(err)
				}
				if taken, err := layer.ClaimJob(t.Context(), s, "t", worker); taken != nil || err != nil {
					t.Fatalf("taken under a heartbeat: %+v, %v", taken, err)
				}
			}
			var waited time.Duration
			for {
				w, next, err := s.WatchJobs(t.Context(), "t", worker)
				if err != nil {
					t.Fatal(err)
				}
				w.Cancel()
				in := time.Until(next.At)
				if in <= 0 {
					break
				}
				waited += in
				time.Sleep(in)
			}
			if waited > lease*2/3 {
				t.Errorf("it was looked at for %v", waited)
			}
			if heir := takeOver(t, s, worker); heir.Token <= j.Token {
				t.Errorf("taken over: %+v", heir)
			}
		})
	}
}

// A job that is given back, or fails and waits, wakes waiting workers; a heartbeat does not.
func TestStore_GiveBack_wakes(t *testing.T) {
	calm(t) // one of the faults wakes without a reason
	s := mustStore(t, mustEngine(t), layer.Options{})
	enqueue(t, s, "a")
	j := claim(t, s, time.Minute)
	w, _, err := s.WatchJobs(t.Context(), "t", layer.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Cancel()
	for range 10 {
		if err := s.Renew(t.Context(), j, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-w.Done():
		t.Error("a heartbeat wakes")
	default:
	}
	if err := s.GiveBack(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	<-w.Done()
	if err := s.GiveBack(t.Context(), j); layer.KindOf(err) != layer.Conflict {
		t.Errorf("given back twice: %v", err)
	}
	again := claim(t, s, time.Minute)
	if again == nil || again.ID != "a" || again.TakenFrom != "worker" {
		t.Errorf("claimed %+v", again)
	}
	if err := s.Finish(t.Context(), again, errors.New("a failure")); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, "a")
	if again = claim(t, s, time.Minute); again == nil || again.TakenFrom != "" {
		t.Errorf("claimed after a failure %+v", again)
	}
}

// Jobs written by an earlier version: one that waits and one that runs, due by a clock that is an hour ahead.
func TestStore_Jobs_old(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	s := mustStore(t, mustEngine(t), layer.Options{})
	ahead := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	for _, j := range []layer.Job{
		{Type: "t", ID: "waits", State: layer.JobPending, Data: []byte(`{}`), Due: ahead},
		{Type: "t", ID: "runs", State: layer.JobRunning, Token: 7, Worker: "old", Due: ahead.Add(time.Second)},
		{Type: "t", ID: "asked for", State: layer.JobPending, Due: ahead},
		{Type: "t", ID: "done", State: layer.JobPending, Due: ahead},
	} {
		if err := layer.OldJob(t.Context(), s, j); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RemoveJob(t.Context(), "t", "done"); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, s, time.Minute); j != nil {
		t.Fatalf("claimed at once: %+v", j)
	}
	enqueue(t, s, "asked for")
	if j := claim(t, s, time.Minute); j == nil || j.ID != "asked for" {
		t.Fatalf("claimed %+v", j)
	}
	begun := time.Now()
	got := map[string]bool{}
	for range 2 {
		j := takeOver(t, s, layer.Worker{Name: "new", Life: "1", Lease: time.Hour})
		got[j.ID] = true
		if j.Token <= 7 {
			t.Errorf("token %d", j.Token)
		}
		if err := s.Finish(t.Context(), j, nil); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); !got["waits"] || !got["runs"] || took < layer.OldLease/2 {
		t.Errorf("taken over %v after %v", got, took)
	}
}

// slowBeats is an engine on which reads of the heartbeats of jobs of type "slow" block until they are released.
type slowBeats struct {
	kv.Engine
	asked   chan struct{} // receives when a caller waits for them
	release chan struct{} // closed by the test
}

func (e *slowBeats) Begin(ctx context.Context) kv.Transaction {
	return &slowBeatsTransaction{e.Engine.Begin(ctx), e}
}

type slowBeatsTransaction struct {
	kv.Transaction
	e *slowBeats
}

func (t *slowBeatsTransaction) Snapshot() kv.Reader {
	return &slowBeatsReader{t.Transaction.Snapshot(), t.e}
}

type slowBeatsReader struct {
	kv.Reader
	e *slowBeats
}

func (r *slowBeatsReader) GetRange(keys kv.Range, o kv.RangeOptions) kv.RangeIterator {
	rows := r.Reader.GetRange(keys, o)
	k, ok := keys.(kv.KeyRange)
	if ok && bytes.Contains(k.Begin, tuple.AppendString(nil, "slow")) && o.Mode == kv.ModeWantAll {
		return &slowRows{rows, r.e}
	}
	return rows
}

type slowRows struct {
	kv.RangeIterator
	e *slowBeats
}

func (r *slowRows) Next() bool {
	select {
	case r.e.asked <- struct{}{}:
	default:
	}
	<-r.e.release
	return r.RangeIterator.Next()
}

// A check of the heartbeats of one type that waits for the store does not delay the checks of other types.
func TestStore_WatchJobs_besideSlowLook(t *testing.T) {
	e := &slowBeats{Engine: mustEngine(t), asked: make(chan struct{}, 1), release: make(chan struct{})}
	s := mustStore(t, e, layer.Options{})
	look := func(typ string) <-chan error {
		done := make(chan error, 1)
		go func() {
			w, _, err := s.WatchJobs(t.Context(), typ, layer.Worker{Name: "a", Life: "1", Lease: time.Minute})
			if err == nil {
				w.Cancel()
			}
			done <- err
		}()
		return done
	}
	slow := look("slow")
	<-e.asked
	quick := look("quick")
	select {
	case err := <-quick:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for the look at another type")
	}
	close(e.release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

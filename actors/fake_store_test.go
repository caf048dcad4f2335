package actors_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// job is a job in the queue.
type job struct {
	layer.Job
	due   time.Time
	lease time.Duration
	again bool
}

// store is a job queue and some databases.
type store struct {
	mu        sync.Mutex
	watches   watches
	databases map[string]*database
	jobs      map[string]*job
	token     int64
	claims    int
	fault     func(call string) error
}

// newStore returns a store. After the systems on it have stopped, nothing may be armed or open.
func newStore(t testing.TB, databases ...*database) *store {
	s := &store{databases: map[string]*database{}, jobs: map[string]*job{}}
	s.watches = watches{mu: &s.mu, armed: map[*watch]bool{}}
	for _, d := range databases {
		s.databases[d.name] = d
		d.store = s
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.watches.armed); n != 0 {
			t.Errorf("%d watches on jobs are left", n)
		}
		for _, d := range s.databases {
			if d.armed() != 0 || d.open != 0 {
				t.Errorf("%d watches and %d builds of %s are left", d.armed(), d.open, d.name)
			}
		}
	})
	return s
}

// lock begins every call.
func (s *store) lock(call string) error {
	s.mu.Lock()
	if s.fault != nil {
		return s.fault(call)
	}
	return nil
}

func (s *store) Database(_ context.Context, name string) (actors.Database, error) {
	defer s.mu.Unlock()
	if err := s.lock("database"); err != nil {
		return nil, err
	}
	if d := s.databases[name]; d != nil {
		return d, nil
	}
	return nil, &layer.Error{Kind: layer.NotFound, Reason: "Database does not exist."}
}

func (s *store) Reach(context.Context) error { return nil }

func (s *store) Enqueue(_ context.Context, typ, id string, data []byte) error {
	defer s.mu.Unlock()
	if err := s.lock("enqueue"); err != nil {
		return err
	}
	s.put(typ, id, data)
	return nil
}

// put enqueues a job. The caller holds mu.
func (s *store) put(typ, id string, data []byte) {
	j := s.jobs[id]
	switch {
	case j != nil && j.State == layer.JobRunning:
		j.again, j.Data = true, data
		return
	case j != nil && j.State == layer.JobPending && !j.due.After(time.Now()):
		j.Data = data
		return
	case j == nil:
		j = &job{Job: layer.Job{Type: typ, ID: id}}
		s.jobs[id] = j
	}
	j.State, j.Data, j.due = layer.JobPending, data, time.Now()
	s.changed(j)
}

// build returns the job of an index, and watches it. It enqueues the job if ask, which is nil or gets the job, returns
// true.
func (s *store) build(of layer.IndexJob, ask func(*layer.Job) bool) (p layer.BuildProgress, err error) {
	defer s.mu.Unlock()
	call := "job"
	if ask != nil {
		call = "enqueue"
	}
	if err := s.lock(call); err != nil {
		return p, err
	}
	if j := s.jobs[of.ID()]; j != nil {
		c := j.Job
		p.Job = &c
	}
	if ask != nil && ask(p.Job) {
		s.put(layer.IndexJobs, of.ID(), of.Encode())
	}
	p.Watch = s.watches.arm("job " + of.ID())
	return p, nil
}

func (s *store) changed(j *job) {
	s.watches.fire("job "+j.ID, nil)
	s.watches.fire("queue", nil)
}

func (s *store) Job(_ context.Context, _, id string) (*layer.Job, kv.Watch, error) {
	defer s.mu.Unlock()
	if err := s.lock("job"); err != nil {
		return nil, nil, err
	}
	w := s.watches.arm("job " + id)
	if j := s.jobs[id]; j != nil {
		c := j.Job
		return &c, w, nil
	}
	return nil, w, nil
}

func (s *store) Claim(_ context.Context, typ string, w layer.Worker) (c layer.Claimed, err error) {
	defer s.mu.Unlock()
	if typ != layer.IndexJobs { // there are no others
		s.mu.Lock()
		c.Watch = s.watches.arm(typ)
		return c, nil
	}
	if err := s.lock("claim"); err != nil {
		return c, err
	}
	for _, j := range s.jobs {
		if due := j.due.Add(w.Grace(j.ID)); j.State != layer.JobFinished && (c.Next == nil || due.Before(c.Next.At)) {
			c.Next = &layer.DueJob{ID: j.ID, At: due}
		}
	}
	if c.Next != nil && !c.Next.At.After(time.Now()) {
		j := s.jobs[c.Next.ID]
		s.token++
		s.claims++
		j.TakenFrom = j.Worker
		j.State, j.Token, j.Worker, j.again = layer.JobRunning, s.token, w.Name, false
		j.lease, j.due = w.Lease, time.Now().Add(w.Lease)
		s.changed(j)
		claimed := j.Job
		return layer.Claimed{Job: &claimed}, nil
	}
	c.Watch = s.watches.arm("queue")
	return c, nil
}

func (s *store) held(j *layer.Job) (*job, error) {
	now := s.jobs[j.ID]
	if now == nil || now.State != layer.JobRunning || now.Token != j.Token {
		return nil, &layer.Error{Kind: layer.Conflict, Reason: "no longer held"}
	}
	return now, nil
}

func (s *store) Renew(_ context.Context, j *layer.Job, progress []byte) error {
	defer s.mu.Unlock()
	if err := s.lock("renew"); err != nil {
		return err
	}
	now, err := s.held(j)
	if err != nil {
		return err
	}
	now.due = time.Now().Add(now.lease)
	if progress != nil {
		now.Progress = progress
		s.changed(now)
	}
	return nil
}

func (s *store) RenewAll(ctx context.Context, jobs []*layer.Job) (lost []*layer.Job, err error) {
	for _, j := range jobs {
		switch err := s.Renew(ctx, j, nil); {
		case layer.KindOf(err) == layer.Conflict:
			lost = append(lost, j)
		case err != nil:
			return lost, err
		}
	}
	return lost, nil
}

func (s *store) Release(_ context.Context, typ string, _ layer.Worker) (next time.Time, err error) {
	defer s.mu.Unlock()
	if err := s.lock("release"); err != nil {
		return next, err
	}
	for _, j := range s.jobs {
		switch {
		case j.Type != typ || j.State != layer.JobRunning:
		case !j.due.After(time.Now()):
			j.State, j.GivenBack, j.Worker = layer.JobPending, j.Worker, ""
			s.changed(j)
		case next.IsZero() || j.due.Before(next):
			next = j.due
		}
	}
	return next, nil
}

func (s *store) GiveBack(_ context.Context, j *layer.Job) error { return s.release("give back", j, 0) }

func (s *store) Postpone(_ context.Context, j *layer.Job, delay time.Duration, _ error) error {
	return s.release("postpone", j, delay)
}

// release makes a job wait that a worker has.
func (s *store) release(call string, j *layer.Job, delay time.Duration) error {
	defer s.mu.Unlock()
	if err := s.lock(call); err != nil {
		return err
	}
	now, err := s.held(j)
	if err != nil {
		return err
	}
	now.State, now.due, now.Progress = layer.JobPending, time.Now().Add(delay), j.Progress
	s.changed(now)
	return nil
}

func (s *store) Waiting(_ context.Context, typ string, most int) (n int, err error) {
	defer s.mu.Unlock()
	if err := s.lock("waiting"); err != nil {
		return 0, err
	}
	for _, j := range s.jobs {
		if j.Type == typ && j.State == layer.JobPending && !j.due.After(time.Now()) && n < most {
			n++
		}
	}
	return n, nil
}

func (s *store) Finish(_ context.Context, j *layer.Job, runErr error) error {
	defer s.mu.Unlock()
	if err := s.lock("finish"); err != nil {
		return err
	}
	now, err := s.held(j)
	if err != nil {
		return err
	}
	now.State, now.Error, now.Failures = layer.JobFinished, "", 0
	if runErr == nil && j.Progress != nil {
		now.Progress = j.Progress
	}
	if now.again {
		now.State, now.due = layer.JobPending, time.Now()
	}
	if runErr != nil {
		now.State, now.Error, now.due = layer.JobPending, runErr.Error(), time.Now().Add(time.Minute)
		now.Full = layer.KindOf(runErr) == layer.Full
		now.Failures = j.Failures + 1
	}
	s.changed(now)
	return nil
}

func (s *store) RemoveJob(_ context.Context, _, id string) error {
	defer s.mu.Unlock()
	if err := s.lock("remove"); err != nil {
		return err
	}
	delete(s.jobs, id)
	return nil
}

// steal ends all leases, as if time had passed.
func (s *store) steal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.due = time.Now()
		s.changed(j)
	}
}

func start(t testing.TB, s *store, change func(*actors.Options)) *actors.System {
	t.Helper()
	return startStore(t, s, change)
}

func startStore(t testing.TB, s actors.Store, change func(*actors.Options)) *actors.System {
	t.Helper()
	o := actors.Options{
		Store:   s,
		Node:    "n1",
		WarmFor: -1,
		Linger:  50 * time.Millisecond,
		Logger:  slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	system, err := actors.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := system.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return system
}

func receives(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(5 * time.Second):
		t.Fatalf("no wake: %s", what)
	}
}

func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		w := wrong()
		if w == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(w)
		}
		time.Sleep(time.Millisecond)
	}
}

// find returns the first actor of a kind in the tree.
func find(n actors.Node, kind string) *actors.Node {
	if n.Kind == kind {
		return &n
	}
	for _, c := range n.Children {
		if f := find(c, kind); f != nil {
			return f
		}
	}
	return nil
}

var errInjected = errors.New("injected")

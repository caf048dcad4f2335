package actors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// watch is a kv.Watch on one key of a fake.
type watch struct {
	w    *watches
	key  string
	done chan struct{}
	err  error
}

// watches is the armed watches of a fake, by key. Its users hold mu.
type watches struct {
	mu    *sync.Mutex
	armed map[*watch]bool
}

func (w *watches) arm(key string) *watch {
	x := &watch{w: w, key: key, done: make(chan struct{})}
	w.armed[x] = true
	return x
}

// fire ends the watches on a key, or all with an empty one.
func (w *watches) fire(key string, err error) {
	for x := range w.armed {
		if key == "" || x.key == key {
			x.end(err)
		}
	}
}

func (x *watch) end(err error) {
	x.err = err
	delete(x.w.armed, x)
	close(x.done)
}

func (x *watch) Done() <-chan struct{} { return x.done }

func (x *watch) Err() error {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	return x.err
}

func (x *watch) Cancel() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	if x.w.armed[x] {
		x.end(context.Canceled)
	}
}

// database is a database of shards with one number each: a commit makes it larger. It has one design document with one index, which is one number: how
// many commits it has seen of each shard.
type database struct {
	name    string
	design  *layer.Design // nil: deleted
	mu      sync.Mutex
	watches watches
	version map[layer.ShardID]uint64
	fault   func() error // of WatchShard

	indexed   map[layer.ShardID]uint64 // visible to readers
	token     int64                    // of the newest build
	building  bool
	goal      layer.Seq
	open      int // builds not closed
	stepFault func(shard layer.ShardID) error
	finishes  int
	catchUps  int
}

func newDatabase(name string) *database {
	d := &database{name: name, version: map[layer.ShardID]uint64{}, indexed: map[layer.ShardID]uint64{},
		design: &layer.Design{ID: "_design/by", Signature: "0123456789abcdef0123456789abcdef"}}
	d.watches = watches{mu: &d.mu, armed: map[*watch]bool{}}
	return d
}

func (d *database) Name() string { return d.name }

func (d *database) WatchShard(_ context.Context, shard layer.ShardID) (kv.Watch, layer.Seq, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault != nil {
		if err := d.fault(); err != nil {
			return nil, layer.Seq{}, err
		}
	}
	return d.watches.arm(string(shard)), sequence(d.version[shard]), nil
}

func (d *database) commit(shard layer.ShardID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version[shard]++
	d.watches.fire(string(shard), nil)
}

func (d *database) at(shard layer.ShardID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version[shard]
}

func (d *database) armed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watches.armed)
}

func (d *database) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func sequence(n uint64) (s layer.Seq) {
	for i := range 8 {
		s.Stamp[11-i] = byte(n >> (8 * i))
	}
	return s
}

func sum(m map[layer.ShardID]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}

func (d *database) Shards(context.Context) ([]layer.ShardID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.version)), nil
}

func (d *database) Designs(context.Context) ([]*layer.Design, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.design == nil {
		return nil, nil
	}
	return []*layer.Design{d.design}, nil
}

func (d *database) IndexOf(*layer.Design) actors.Index { return index{d} }

type index struct{ d *database }

func (ix index) State(context.Context) (layer.IndexState, error) {
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	return layer.IndexState{Seq: sequence(sum(ix.d.indexed)), LastSeq: sequence(sum(ix.d.version)), Building: ix.d.building, Goal: ix.d.goal}, nil
}

func (ix index) CatchUp(_ context.Context, n int) (bool, error) {
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	if ix.d.building || sum(ix.d.version)-sum(ix.d.indexed) > uint64(n) {
		return false, nil
	}
	for shard, v := range ix.d.version {
		ix.d.indexed[shard] = v
	}
	ix.d.catchUps++
	return true, nil
}

func (ix index) Begin(_ context.Context, token int64) (actors.Build, error) {
	d := ix.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if token < d.token {
		return nil, &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	d.token, d.building = token, true
	d.open++
	b := &build{d: d, token: token, goal: map[layer.ShardID]uint64{}, reached: map[layer.ShardID]uint64{}}
	for shard, v := range d.version {
		b.goal[shard], b.reached[shard] = v, d.indexed[shard]
	}
	d.goal = sequence(sum(b.goal))
	return b, nil
}

type build struct {
	d             *database
	token         int64
	goal, reached map[layer.ShardID]uint64
	closed        bool
}

func (b *build) Plan() actors.Plan {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	p := actors.Plan{Goal: sequence(sum(b.goal)), Changes: int64(sum(b.goal) - sum(b.reached))}
	for shard := range b.goal {
		p.Shards = append(p.Shards, shard)
	}
	return p
}

func (b *build) Step(_ context.Context, shard layer.ShardID, n int) (layer.StepResult, error) {
	b.d.mu.Lock()
	fault := b.d.stepFault
	b.d.mu.Unlock()
	if fault != nil {
		if err := fault(shard); err != nil {
			return layer.StepResult{}, err
		}
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.closed {
		panic("a step of a closed build")
	}
	if b.token != b.d.token {
		return layer.StepResult{}, &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	left := b.goal[shard] - b.reached[shard]
	take := min(left, uint64(n))
	b.reached[shard] += take
	return layer.StepResult{Documents: int(take), Rows: int(take), Done: take == left}, nil
}

func (b *build) Finish(context.Context) (bool, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.token != b.d.token {
		return false, &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	for shard, goal := range b.goal {
		if b.reached[shard] != goal {
			return false, fmt.Errorf("shard %s is at %d, not at %d", shard, b.reached[shard], goal)
		}
		b.d.indexed[shard] = goal
	}
	b.d.building = false
	b.d.finishes++
	return true, nil
}

func (b *build) Close() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.d.open--
	}
}

// job is a job in the queue.
type job struct {
	layer.Job
	due   time.Time
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

// newStore makes a store that, after the systems on it have stopped, must have nothing armed or open.
func newStore(t testing.TB, databases ...*database) *store {
	s := &store{databases: map[string]*database{}, jobs: map[string]*job{}}
	s.watches = watches{mu: &s.mu, armed: map[*watch]bool{}}
	for _, d := range databases {
		s.databases[d.name] = d
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

// lock is the beginning of every call.
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

func (s *store) Enqueue(_ context.Context, typ, id string, data []byte) error {
	defer s.mu.Unlock()
	if err := s.lock("enqueue"); err != nil {
		return err
	}
	j := s.jobs[id]
	switch {
	case j != nil && j.State == layer.JobRunning:
		j.again, j.Data = true, data
		return nil
	case j == nil:
		j = &job{Job: layer.Job{Type: typ, ID: id}}
		s.jobs[id] = j
	}
	j.State, j.Data, j.due = layer.JobPending, data, time.Now()
	s.changed(j)
	return nil
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

func (s *store) Claim(_ context.Context, _, worker string, lease time.Duration) (*layer.Job, error) {
	defer s.mu.Unlock()
	if err := s.lock("claim"); err != nil {
		return nil, err
	}
	for _, j := range s.jobs {
		if j.State != layer.JobFinished && !j.due.After(time.Now()) {
			s.token++
			s.claims++
			j.State, j.Token, j.Worker, j.again = layer.JobRunning, s.token, worker, false
			j.due = time.Now().Add(lease)
			s.changed(j)
			c := j.Job
			return &c, nil
		}
	}
	return nil, nil
}

func (s *store) held(j *layer.Job) (*job, error) {
	now := s.jobs[j.ID]
	if now == nil || now.State != layer.JobRunning || now.Token != j.Token {
		return nil, &layer.Error{Kind: layer.Conflict, Reason: "no longer held"}
	}
	return now, nil
}

func (s *store) Renew(_ context.Context, j *layer.Job, lease time.Duration, progress []byte) error {
	defer s.mu.Unlock()
	if err := s.lock("renew"); err != nil {
		return err
	}
	now, err := s.held(j)
	if err != nil {
		return err
	}
	now.due, now.Progress = time.Now().Add(lease), progress
	s.changed(now)
	return nil
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
	if now.again {
		now.State, now.due = layer.JobPending, time.Now()
	}
	if runErr != nil {
		now.State, now.Error, now.due = layer.JobPending, runErr.Error(), time.Now().Add(time.Minute)
		now.Failures = j.Failures + 1
	}
	s.changed(now)
	return nil
}

func (s *store) WatchJobs(context.Context, string) (w kv.Watch, next *layer.DueJob, err error) {
	defer s.mu.Unlock()
	if err := s.lock("watch"); err != nil {
		return nil, next, err
	}
	for _, j := range s.jobs {
		if j.State != layer.JobFinished && (next == nil || j.due.Before(next.At)) {
			next = &layer.DueJob{ID: j.ID, At: j.due}
		}
	}
	return s.watches.arm("queue"), next, nil
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
	o := actors.Options{Store: s, Node: "n1", WarmFor: -1, Linger: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
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

// find is the first actor of a kind in the tree.
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

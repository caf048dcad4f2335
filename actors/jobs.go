package actors

import (
	"context"
	"encoding/json"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// jobsBehavior claims jobs of a type from the queue, as many as this node works on at once, and hands them to the actors of their databases. It
// takes what is due, then waits until something is announced or the next one is due. While jobs run it looks at their
// heartbeats some times per lease; one whose worker has fallen silent is due.
type jobsBehavior struct {
	running func() int // tasks of this node
	limit   int
	backoff backoff

	phase jobsPhase
	facts JobsFacts
}

type jobsPhase string

const (
	jobsLooking  jobsPhase = "looking"     // arming a watch on the queue
	jobsClaiming jobsPhase = "claiming"    // something is due
	jobsWaiting  jobsPhase = "waiting"     // nothing is due for this node
	jobsFull     jobsPhase = "full"        // this node has as many as it may
	jobsRetrying jobsPhase = "backing off" // the store failed, or another node was faster
)

// JobsFacts are the figures of the jobs actor.
type JobsFacts struct {
	Running int    `json:"running"`
	Claimed int64  `json:"claimed"`
	Error   string `json:"error,omitempty"`
}

// Messages of the jobs actor.
type (
	queueArmed struct {
		watch kv.Watch
		next  *layer.DueJob // nil: none
		err   error
	}
	queueChanged struct{}
	claimed      struct {
		task *task // nil where there was no job, or it was void
		none bool  // there was no job
		err  error
	}
)

// Effects of the jobs actor.
type (
	watchQueue struct{}
	awaitQueue struct {
		watch kv.Watch
		until time.Time // zero: for ever
	}
	dropWatch struct{ watch kv.Watch }
	claimJob  struct{}
	handOver  struct{ task *task }
)

func (b *jobsBehavior) step(now time.Time, message any) []effect {
	switch m := message.(type) {
	case started, queueChanged:
		return b.look()
	case lookAgain:
		if b.phase == jobsFull {
			return b.look()
		}
	case queueArmed:
		return b.armed(now, m)
	case claimed:
		return b.claimed(m)
	}
	return nil
}

func (b *jobsBehavior) look() []effect {
	if b.running() >= b.limit {
		b.phase = jobsFull
		return nil
	}
	b.phase = jobsLooking
	return []effect{watchQueue{}}
}

func (b *jobsBehavior) armed(now time.Time, m queueArmed) []effect {
	if m.err != nil {
		return b.retry(m.err)
	}
	b.facts.Error = ""
	due := time.Time{}
	if m.next != nil {
		if due = m.next.At; !due.After(now) {
			b.phase = jobsClaiming
			return []effect{dropWatch{m.watch}, claimJob{}}
		}
	}
	b.backoff.reset()
	b.phase = jobsWaiting
	return []effect{awaitQueue{m.watch, due}}
}

func (b *jobsBehavior) claimed(m claimed) []effect {
	if m.err != nil || m.none {
		return b.retry(m.err)
	}
	if m.task == nil {
		return b.look()
	}
	b.facts.Claimed++
	// Handed over first, so that the task counts when this node looks whether it may have another.
	return []effect{handOver{m.task}, after{0, queueChanged{}}}
}

func (b *jobsBehavior) retry(err error) []effect {
	b.phase = jobsRetrying
	if err != nil {
		b.facts.Error = err.Error()
	}
	return []effect{after{b.backoff.next(), queueChanged{}}}
}

func (b *jobsBehavior) status() (string, any) {
	b.facts.Running = b.running()
	return string(b.phase), b.facts
}

// worker describes this node to the queue of jobs. It leaves a job that belongs on another node to that node for a
// grace period. After that it takes the job: the owner may be busy or dead, or the placement may be changing.
func (s *System) worker(owns func(job string) bool) layer.Worker {
	w := layer.Worker{Name: s.o.Node, Life: s.hub.life, Lease: s.o.Lease, Grace: func(job string) time.Duration {
		if owns(job) {
			return 0
		}
		return s.o.OwnersGrace
	}}
	if s.o.Peers != nil {
		w.Gone = s.o.Peers.Left
	}
	return w
}

// jobsSpec is the actor that claims jobs of a type.
func (s *System) jobsSpec(kind, typ string, limit int, owns func(job string) bool) spec {
	worker := s.worker(owns)
	return spec{
		kind: kind,
		make: func() behavior {
			return &jobsBehavior{running: func() int { return s.builds.count(typ) }, limit: limit, backoff: newBackoff(20*time.Millisecond, 5*time.Second)}
		},
		perform: func(sh *shell, e effect) { s.performJobs(sh, typ, worker, e) },
	}
}

func (s *System) performJobs(sh *shell, typ string, worker layer.Worker, e effect) {
	switch e := e.(type) {
	case claimJob:
		sh.do(func(ctx context.Context) any { return s.claim(ctx, typ, worker) })
	case handOver:
		s.builds.add(e.task)
		s.toDatabases(tasksChanged{e.task.key.db})
		if s.draining.Load() { // it was claimed meanwhile
			sh.do(func(ctx context.Context) any {
				s.giveBack(ctx)
				return nil
			})
		}
	default:
		s.performQueue(sh, typ, worker, e)
	}
}

// performQueue is what actors that take jobs of a type have in common.
func (s *System) performQueue(sh *shell, typ string, worker layer.Worker, e effect) {
	switch e := e.(type) {
	case watchQueue:
		sh.do(func(ctx context.Context) any {
			w, next, err := s.store.WatchJobs(ctx, typ, worker)
			if err != nil {
				return queueArmed{err: err}
			}
			return queueArmed{watch: s.hold(ctx, w), next: next}
		})
	case dropWatch:
		e.watch.Cancel()
	case awaitQueue:
		sh.do(func(ctx context.Context) any {
			defer e.watch.Cancel()
			var due <-chan time.Time
			if !e.until.IsZero() {
				t := time.NewTimer(e.until.Sub(s.now()))
				defer t.Stop()
				due = t.C
			}
			select {
			case <-ctx.Done():
				return nil
			case <-due:
			case <-e.watch.Done():
			}
			return queueChanged{}
		})
	}
}

// prepareAttempts is how often a node tries to open what it has claimed before it gives the job back.
const prepareAttempts = 5

// claim takes a job and finds out what it is about. One that is void, because its database or design document is gone, is finished at once.
func (s *System) claim(ctx context.Context, typ string, worker layer.Worker) claimed {
	if s.draining.Load() {
		return claimed{none: true}
	}
	job, err := s.store.Claim(ctx, typ, worker)
	if err != nil || job == nil {
		return claimed{none: job == nil, err: err}
	}
	pause := newBackoff(10*time.Millisecond, time.Second)
	for attempt := 1; ; attempt++ {
		t, err := s.prepare(ctx, job)
		if err == nil {
			return claimed{task: t}
		}
		if void := layer.KindOf(err) == layer.NotFound; void || attempt == prepareAttempts {
			if void {
				s.log.Debug("index job dropped: nobody wants it any more", "job", job.ID, "reason", err)
				err = nil
			} else {
				s.log.Warn("index job not begun", "job", job.ID, "error", err)
			}
			return claimed{err: s.store.Finish(ctx, job, err)}
		}
		select {
		case <-ctx.Done():
			return claimed{err: ctx.Err()}
		case <-time.After(pause.next()):
		}
	}
}

// prepare opens what a job is about. NotFound where the job is void.
func (s *System) prepare(ctx context.Context, job *layer.Job) (*task, error) {
	what, err := decodeIndexJob(job.Data)
	if err != nil {
		return nil, err
	}
	db, err := s.store.Database(ctx, what.Database)
	if err != nil {
		return nil, err
	}
	key := indexKey{db, what.Signature, what.Shard}
	d, err := designOf(ctx, db, what.Signature)
	if err != nil {
		if layer.KindOf(err) == layer.NotFound {
			s.builds.tell(key, err)
		}
		return nil, err
	}
	what.Design = d.ID
	t := &task{key: key, what: what, job: *job, index: db.IndexOf(d), since: s.now()}
	if json.Unmarshal(job.Progress, &t.mu.most) != nil { // of no run before, or of a version that wrote something else
		t.mu.most = IndexerFacts{}
	}
	t.mu.progress = t.mu.most
	return t, nil
}

// designOf finds a design document that has an index. NotFound where there is none, or no database.
func designOf(ctx context.Context, db Database, signature string) (*layer.Design, error) {
	designs, err := db.Designs(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range designs {
		if d.Signature == signature {
			return d, nil
		}
	}
	return nil, &layer.Error{Kind: layer.NotFound, Reason: "no design document has this index any more"}
}

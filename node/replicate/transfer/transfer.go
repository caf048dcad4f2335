package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

// Database is an end of a replication. Package couch has it over HTTP. All methods are safe for concurrent use; those
// that package couch has too work as there.
type Database interface {
	Name() string
	Info(ctx context.Context) (couch.Info, error)
	Create(ctx context.Context, params []spec.Param) error
	Commit(ctx context.Context) (startTime string, err error)
	LocalDocument(ctx context.Context, id string) ([]byte, error)
	PutLocal(ctx context.Context, id string, doc []byte) (rev string, err error)

	Shards(ctx context.Context, since json.RawMessage) ([]string, error)
	Changes(ctx context.Context, f couch.Feed, row func(*couch.Change) error) (last json.RawMessage, err error)
	Pending(ctx context.Context, since json.RawMessage) (int64, error)
	BulkGet(ctx context.Context, wanted []couch.Missing, each func(i int, doc []byte) error) error
	OpenRevs(ctx context.Context, id string, revs, ancestors []string, each func(*couch.Related) error) error

	RevsDiff(ctx context.Context, docs []couch.Change) ([]couch.Missing, error)
	BulkDocs(ctx context.Context, docs [][]byte) ([]couch.Failure, error)
	PutDocument(ctx context.Context, id string, doc []byte) error
	PutRelated(ctx context.Context, doc *couch.Related) error
}

// Options of a Run.
type Options struct {
	Spec           *spec.Spec
	ID             spec.ID
	Source, Target Database
	// Earlier are the statistics of earlier runs of the same job. They count on.
	Earlier Stats
	Began   time.Time // when the job began, for the checkpoints
	Session string    // id of this run, 32 hexadecimal digits
	// MissingWait is how long to wait before a revision that the source does not have is asked for again.
	MissingWait time.Duration
	MaxID       int // longer ids of documents are left out; 0: none are
	// Repeats is what both ends tell about failed requests. It may be nil.
	Repeats *couch.Repeats
	Log     *slog.Logger
}

// Run is one run of a replication. Status may be called at any time.
type Run struct {
	o      Options
	log    *slog.Logger
	feed   *queue
	checks *checkpoints
	slots  chan struct{} // for documents that are copied one by one

	mu    sync.Mutex
	stats Stats // with those of earlier runs
	own   Stats
	track tracker
	// bulkFrom is the time before which the source's _bulk_get is not used, since it has failed, and bulkPause how long
	// that is; 0 if it has succeeded since.
	bulkFrom  time.Time
	bulkPause time.Duration
}

// New prepares a run.
func New(o Options) *Run {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MissingWait == 0 {
		o.MissingWait = 2 * time.Second
	}
	r := &Run{o: o, log: o.Log, stats: o.Earlier}
	r.checks = &checkpoints{o: &r.o}
	r.slots = make(chan struct{}, o.Spec.HTTPConnections)
	return r
}

// ErrStopped is the result of a run that was stopped before its end.
var ErrStopped = errors.New("transfer: the replication was stopped")

// Until returns a context that also ends when a channel is closed, with a cause then. The caller calls cancel.
func Until(ctx context.Context, closed <-chan struct{}, cause error) (until context.Context, cancel func()) {
	until, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-closed:
			end(cause)
		case <-until.Done():
		}
	}()
	return until, func() { end(nil) }
}

// Do runs the replication until it is complete, fails, or ctx ends. When stop is closed, it records a checkpoint, if it
// has copied anything, and returns ErrStopped. The result is what POST /_replicate answers, without "ok".
func (r *Run) Do(ctx context.Context, stop <-chan struct{}) (result []byte, err error) {
	starting, cancel := Until(ctx, stop, ErrStopped) // there is nothing to record yet
	defer cancel()
	if err := r.start(starting); err != nil {
		if errors.Is(context.Cause(starting), ErrStopped) {
			return nil, ErrStopped
		}
		return nil, err
	}
	r.log.Info("replication started", "start", couch.SeqText(r.checks.start), "session", r.o.Session)
	err = r.copy(ctx, stop)
	stopped := errors.Is(err, ErrStopped)
	if err != nil && !stopped {
		return nil, err
	}
	if cerr := r.checkpoint(ctx); cerr != nil && err == nil {
		return nil, cerr
	}
	if stopped {
		return nil, ErrStopped
	}
	return r.checks.result(), nil
}

// start opens both ends and finds where to begin. The source comes first: without it no target is created.
func (r *Run) start(ctx context.Context) error {
	o := &r.o
	source, err := o.Source.Info(ctx)
	if err != nil {
		return err
	}
	if o.Spec.CreateTarget {
		if err := o.Target.Create(ctx, o.Spec.CreateTargetParams); err != nil {
			return err
		}
	}
	target, err := o.Target.Info(ctx)
	if err != nil {
		return err
	}
	if err := r.checks.load(ctx, source, target); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = r.stats.max(r.checks.earlier)
	shards := []string{""}
	if source.Sharded && o.Spec.Filter.Kind == spec.Everything {
		if list, err := o.Source.Shards(ctx, r.checks.start); err == nil && len(list) > 1 {
			shards = list
		}
	}
	r.track.begin(shards, r.checks.start)
	return nil
}

// copy runs the readers, the workers and the timer of checkpoints until all have ended.
func (r *Run) copy(ctx context.Context, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := r.o.Spec
	r.feed = newQueue(2*s.WorkerBatchSize*s.WorkerProcesses, maxQueued)
	var readers, workers, others sync.WaitGroup
	for i := range r.track.streams {
		readers.Go(func() {
			if err := r.read(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	for range s.WorkerProcesses {
		workers.Go(func() {
			w := newWorker(r)
			if err := w.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	ended := make(chan struct{})
	others.Go(func() {
		if err := r.keep(ctx, ended, stop); err != nil {
			cancel(err)
		}
	})
	defer context.AfterFunc(ctx, r.feed.close)()
	readers.Wait()
	r.feed.close()
	workers.Wait()
	close(ended)
	others.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// keep records checkpoints from time to time, until the run ends or is stopped.
func (r *Run) keep(ctx context.Context, ended, stop <-chan struct{}) error {
	t := time.NewTicker(r.o.Spec.CheckpointInterval)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-stop:
			return ErrStopped
		case <-t.C:
			if err := r.checkpoint(ctx); err != nil {
				return err
			}
		}
	}
}

// checkpoint records how far the run came.
func (r *Run) checkpoint(ctx context.Context) error {
	r.mu.Lock()
	through, stats := r.track.through(), r.stats
	r.mu.Unlock()
	if err := r.checks.record(ctx, through, stats); err != nil {
		return failed("checkpoint_commit_failure", err)
	}
	return nil
}

// add counts.
func (r *Run) add(s Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats, r.own = r.stats.plus(s), r.own.plus(s)
}

// Own returns the statistics of this run alone.
func (r *Run) Own() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own
}

// Status is what is known about a run.
type Status struct {
	Stats
	Pending      int64 // changes that are left, -1 if unknown
	SourceSeq    json.RawMessage
	ThroughSeq   json.RawMessage
	Checkpointed json.RawMessage
	// CheckpointInterval is that of the run.
	CheckpointInterval time.Duration
	// Trouble is the error of a request that has failed and is repeated, or "". It has no passwords.
	Trouble string
}

// Status returns how far the run is.
func (r *Run) Status() Status {
	committed := r.checks.committedSeq()
	r.mu.Lock()
	defer r.mu.Unlock()
	return Status{Stats: r.stats, Pending: -1, SourceSeq: r.track.highest, ThroughSeq: r.track.through(),
		Checkpointed: committed, CheckpointInterval: r.o.Spec.CheckpointInterval, Trouble: r.o.Repeats.Trouble()}
}

// Pending asks the source how many changes are left.
func (r *Run) Pending(ctx context.Context) (int64, error) {
	r.mu.Lock()
	seq := r.track.through()
	r.mu.Unlock()
	return r.o.Source.Pending(ctx, seq)
}

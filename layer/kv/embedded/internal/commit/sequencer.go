package commit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/conflict"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/compact"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/guard"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/rowcache"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
	"github.com/divandb/divan/layer/kv/embedded/internal/watch"
)

// commitQueue holds the requests that the sequencer has not taken yet.
type commitQueue struct {
	mu struct {
		sync.Mutex
		waiting []*Request
		closed  bool
	}
	// wake holds one token while waiting may not be empty or the queue is closed.
	wake chan struct{}
}

func (q *commitQueue) push(r *Request) error {
	q.mu.Lock()
	if q.mu.closed {
		q.mu.Unlock()
		return failure.ErrClosed
	}
	q.mu.waiting = append(q.mu.waiting, r)
	q.mu.Unlock()
	q.signal()
	return nil
}

func (q *commitQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *commitQueue) Close() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.signal()
}

// take moves up to most waiting requests to dst. If some remain, wake holds a token again. open is false when the
// queue is closed and empty.
func (q *commitQueue) take(dst []*Request, most int) (taken []*Request, open bool) {
	q.mu.Lock()
	n := min(most, len(q.mu.waiting))
	dst = append(dst, q.mu.waiting[:n]...)
	q.mu.waiting = slices.Delete(q.mu.waiting, 0, n)
	more, closed := len(q.mu.waiting) > 0, q.mu.closed
	q.mu.Unlock()
	if more {
		q.signal()
	}
	return dst, more || !closed
}

const (
	// maxGroup is the most commits that share one sync, so that one group cannot keep the next waiting for long. The
	// versionstamp's 2 bytes of order would allow 65,536.
	maxGroup      = 1024
	maxGroupBytes = 8 << 20
)

// group is a sequence of commits with one version and one sync.
type group struct {
	requests []*Request
	version  int64
	applied  int            // requests applied or in pending
	bytes    int            // written by the requests
	pending  *pebble.Batch  // not applied yet; nil for none
	view     *versions.View // the state after the group; nil if nothing was applied
	sync     *pebble.Batch  // waits until the whole group is on disk; nil if nothing was applied
	err      error          // why the rest of the group failed
}

func (g *group) full() bool { return len(g.requests) >= maxGroup || g.bytes >= maxGroupBytes }

// Spans implements watch's changes: it returns what the i-th commit has written.
func (g *group) Spans(i int) (written, stamped []keys.Span, ok bool) {
	if i >= len(g.requests) {
		return nil, nil, false
	}
	if r := g.requests[i]; r.err == nil {
		written, stamped = r.Writes, r.stamped
	}
	return written, stamped, true
}

// Parts are the parts of an engine that commits use.
type Parts struct {
	Store     *store.Store
	Rows      *rowcache.Cache
	Views     *versions.Views
	Snapshots *versions.Closer
	Watches   *watch.Watches
	Reclaimer *compact.Reclaimer
	Damage    *damage.Damage
	Guard     *guard.Guard
	Space     *room.Space
}

// Committer owns the sequencer and the syncer.
type Committer struct {
	Parts
	Queue commitQueue
	// idle holds a token while no group syncs. The sequencer takes it to begin a sync, and the syncer returns it
	// after the sync.
	idle   chan struct{}
	synced chan *group // groups whose sync has begun, at most one; the sequencer closes it

	clock    *clock
	resolver *conflict.Resolver
	Busy     store.Busy
	Window   atomic.Int64 // the resolver's memory when the last group's sync began
}

// Start starts the sequencer and the syncer of a store at the version last. resolverBytes and window bound the
// conflict resolver.
func (c *Committer) Start(parts Parts, last int64, resolverBytes int, window time.Duration) {
	c.Parts = parts
	c.Queue.wake = make(chan struct{}, 1)
	c.idle = make(chan struct{}, 1)
	c.idle <- struct{}{}
	c.synced = make(chan *group, 1)
	c.clock = newClock(last)
	c.resolver = conflict.New(last, resolverBytes, window.Microseconds()*11/10)
	c.Store.Running.Go(c.sequence)
	c.Store.Running.Go(c.sync)
}

// Commit queues r and waits for the answer. If ctx ends or the disk fails first, a request that is still waiting is
// given up; otherwise it may have been committed.
func (c *Committer) Commit(ctx context.Context, r *Request) error {
	if err := c.Queue.push(r); err != nil {
		return err
	}
	var err error
	select {
	case <-r.Done:
		return r.err
	case <-c.Space.Stalled():
		err = c.Space.Refusal()
	case <-ctx.Done():
		err = failure.OfContext(ctx)
	case <-c.Store.Failing:
		err = c.Store.Failed()
	}
	if r.state.CompareAndSwap(requestWaiting, requestGone) {
		return err
	}
	select {
	case <-r.Done:
		return r.err
	default:
		return maybe(err)
	}
}

// sequence is the sequencer. It resolves and applies commits as they arrive. All commits that arrive while a group
// syncs form the next group; they share one sync, which begins when the current one ends.
func (c *Committer) sequence() {
	defer close(c.synced)
	for open := true; open; {
		g := new(group)
		for open && len(g.requests) == 0 {
			<-c.Queue.wake
			open = c.extend(g)
		}
		for begun := false; !begun; {
			select {
			case <-c.idle:
				open = c.extend(g) // once more before the sync
				c.beginSync(g)
				begun = true
				continue
			default:
			}
			c.guarded(g, func() error { return c.applyPending(g) }) // while another group syncs
			wake := c.Queue.wake
			if !open || g.full() {
				wake = nil
			}
			select {
			case <-wake:
				open = c.extend(g)
			case <-c.idle:
				c.idle <- struct{}{}
			}
		}
		c.resolver.Seal() // now, while the disk is busy
		c.synced <- g
	}
}

// extend takes waiting requests into the group, and resolves and applies them. It returns false when no more requests
// will come.
func (c *Committer) extend(g *group) (open bool) {
	from := len(g.requests)
	if g.full() {
		return true
	}
	g.requests, open = c.Queue.take(g.requests, maxGroup-from)
	gone := func(r *Request) bool { return !r.state.CompareAndSwap(requestWaiting, requestTaken) }
	g.requests = append(g.requests[:from], slices.DeleteFunc(g.requests[from:], gone)...)
	c.guarded(g, func() error {
		for _, r := range g.requests[from:] {
			if r.err = c.resolve(g, r); r.err != nil {
				continue
			}
			if err := c.add(g, r); err != nil {
				return err
			}
		}
		return nil
	})
	return open
}

// beginSync starts writing the whole group to disk and keeps a view of the state after it.
func (c *Committer) beginSync(g *group) {
	c.Window.Store(int64(c.resolver.Bytes))
	if g.applied == 0 {
		return
	}
	c.guarded(g, func() error {
		end := g.pending
		g.pending = nil
		if end == nil {
			end = c.Store.DB.Load().NewBatch()
			_ = end.LogData([]byte{}, nil) // a batch in memory has no error; an empty one would not be synced
		}
		if err := c.Store.DB.Load().ApplyNoSyncWait(end, store.SyncInLog); err != nil {
			return err
		}
		g.sync, g.view = end, c.Snapshots.NewView(c.Store.DB.Load(), c.Rows, g.version)
		return nil
	})
}

// applyPending applies the pending batch to Pebble's memtable and queues it for the log.
func (c *Committer) applyPending(g *group) error {
	batch := g.pending
	if batch == nil {
		return nil
	}
	g.pending = nil
	return errors.Join(c.Store.DB.Load().Apply(batch, store.SyncLater), batch.Close())
}

// guarded runs work unless the group has failed. A Pebble error or panic fails the group and stops all writing to the
// store.
func (c *Committer) guarded(g *group, work func() error) {
	if g.err != nil {
		return
	}
	if g.err = c.Store.Failed(); g.err != nil {
		if g.applied > 0 {
			g.err = maybe(g.err)
		}
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.Store.Fail(panicError(p))
			g.err = maybe(c.Store.Failed())
		}
	}()
	c.Busy.Begin()
	defer c.Busy.End()
	if err := work(); err != nil {
		c.Store.Fail(err)
		g.err = maybe(c.Store.Failed())
	}
}

// panicError returns the error in a panic of Pebble's log writer. It repeats any other panic.
func panicError(p any) error {
	switch p := p.(type) {
	case runtime.Error:
	case error:
		return p
	}
	panic(p)
}

// maybe returns err with Maybe set, for a commit that may have happened.
func maybe(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	m := *e
	m.Maybe = true
	return &m
}

var errNotCommitted = kv.NewError(kv.CodeNotCommitted, "another transaction wrote what this one read", nil)

// resolve checks that r's reads are still valid.
func (c *Committer) resolve(g *group, r *Request) error {
	if c.Store.Closing.Load() {
		return failure.ErrClosed
	}
	conflict, tooOld := c.resolver.Conflicts(r.ReadVersion, r.Reads)
	switch {
	case tooOld:
		return failure.ErrTooOld
	case conflict:
		return errNotCommitted
	}
	return nil
}

// sync is the syncer: it waits for each group to be on disk, publishes its version, fires watches and answers.
func (c *Committer) sync() {
	for g := range c.synced {
		if g.sync != nil {
			if err := g.sync.SyncWait(); err != nil && g.err == nil {
				c.Store.Fail(err)
				g.err = maybe(c.Store.Failed())
			}
		}
		c.idle <- struct{}{}
		if g.err == nil && g.view != nil {
			if err := c.Guard.Acknowledge(g.version); err != nil {
				c.Store.Fail(err)
				g.err = maybe(c.Store.Failed())
			}
		}
		if g.err == nil && g.view != nil {
			c.Views.Publish(g.view)
			if c.Watches.Armed() {
				c.Watches.Notify(g.view, g)
			}
			for _, r := range g.requests {
				if len(r.dropped) > 0 && r.err == nil {
					c.Reclaimer.Note(g.version, false, r.dropped...)
					if slices.ContainsFunc(r.dropped, c.Damage.Within) {
						c.Damage.Cleared.Store(true)
					}
				}
			}
		} else if g.view != nil {
			g.view.Refuse()
		}
		for _, r := range g.requests {
			if r.err == nil {
				r.err = g.err
			}
			close(r.Done)
		}
		if g.sync != nil && g.err == nil {
			_ = g.sync.Close() // it is applied; Close only frees its memory
		}
	}
}

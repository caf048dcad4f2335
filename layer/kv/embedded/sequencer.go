package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// commitQueue are the requests that the sequencer has not taken.
type commitQueue struct {
	mu struct {
		sync.Mutex
		waiting []*commitRequest
		closed  bool
	}
	// wake holds one token while waiting may not be empty or the queue is closed.
	wake chan struct{}
}

func (q *commitQueue) push(r *commitRequest) error {
	q.mu.Lock()
	if q.mu.closed {
		q.mu.Unlock()
		return errClosed
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

func (q *commitQueue) close() {
	q.mu.Lock()
	q.mu.closed = true
	q.mu.Unlock()
	q.signal()
}

// take blocks until there are requests and moves a group of them to dst, which is empty. open is false when the queue is closed and empty.
func (q *commitQueue) take(dst []*commitRequest) (group []*commitRequest, open bool) {
	for {
		<-q.wake
		q.mu.Lock()
		n, size := 0, 0
		for n < len(q.mu.waiting) && n < maxGroup && size < maxGroupBytes {
			size += q.mu.waiting[n].batch.Len()
			n++
		}
		dst = append(dst, q.mu.waiting[:n]...)
		q.mu.waiting = slices.Delete(q.mu.waiting, 0, n)
		more, closed := len(q.mu.waiting) > 0, q.mu.closed
		q.mu.Unlock()
		if more || closed {
			q.signal()
		}
		if n > 0 || closed {
			return dst, n > 0
		}
	}
}

const (
	// maxGroup commits share one sync at most, so that one group cannot keep the next waiting for long. The versionstamp's 2 bytes of order allow 65,536.
	maxGroup      = 1024
	maxGroupBytes = 8 << 20
)

// group is a number of commits with one version, in order.
type group struct {
	requests []*commitRequest
	version  int64
	applied  int           // requests that were
	view     *view         // the state right after, nil where nothing was applied
	sync     *pebble.Batch // the batch that is synced last, nil where nothing was applied
	err      error         // why the rest of the group has failed
}

// committer owns the sequencer and the syncer.
type committer struct {
	e     *Engine
	queue commitQueue
	// synced gives groups to the syncer in order. Unbuffered: with one group syncing and the next one applied, requests gather for a third.
	synced chan *group

	clock    *clock
	resolver *resolver
}

func (c *committer) start(e *Engine, last int64) {
	c.e = e
	c.queue.wake = make(chan struct{}, 1)
	c.synced = make(chan *group)
	c.clock = newClock(last)
	c.resolver = newResolver(last, e.o.ResolverBytes, e.o.transactionTime.Microseconds()*11/10)
	e.running.Add(2)
	go c.sequence()
	go c.sync()
}

// commit has r written and waits for the answer. Where ctx ends or the disk fails first, r is given up if it is still waiting; if it is not, it may
// have been committed.
func (c *committer) commit(ctx context.Context, r *commitRequest) error {
	if err := c.queue.push(r); err != nil {
		return err
	}
	var err error
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		err = contextError(ctx)
	case <-c.e.failing:
		err = c.e.failed()
	}
	if r.state.CompareAndSwap(requestWaiting, requestGone) {
		return err
	}
	select {
	case <-r.done:
		return r.err
	default:
		return maybe(err)
	}
}

// sequence is the sequencer: it takes what waits, resolves it, gives it a version, applies it, and hands it to the syncer.
func (c *committer) sequence() {
	defer c.e.running.Done()
	defer close(c.synced)
	for {
		requests, open := c.queue.take(nil)
		if !open {
			return
		}
		g := &group{requests: slices.DeleteFunc(requests, func(r *commitRequest) bool {
			return !r.state.CompareAndSwap(requestWaiting, requestTaken)
		})}
		c.process(g)
		c.synced <- g
	}
}

// process gives each request of the group its outcome, but for the sync. A panic of Pebble's ends the group and the engine's writing.
func (c *committer) process(g *group) {
	if g.err = c.e.failed(); g.err != nil {
		return
	}
	if c.e.closing.Load() {
		g.err = errClosed
		return
	}
	defer func() {
		if p := recover(); p != nil {
			err := panicError(p)
			c.e.fail(err)
			g.err = maybe(c.e.failed())
		}
	}()
	g.version = c.clock.next()
	for i, r := range g.requests {
		if r.err = c.resolve(r); r.err != nil {
			continue
		}
		if g.err = c.apply(g, r, i == len(g.requests)-1); g.err != nil {
			c.e.fail(g.err)
			g.err = maybe(c.e.failed())
			return
		}
	}
	if g.applied == 0 {
		return
	}
	if g.sync == nil { // the last request was refused
		marker := c.e.db.NewBatch()
		_ = marker.LogData([]byte{}, nil)
		if g.err = c.e.db.ApplyNoSyncWait(marker, syncInLog); g.err != nil {
			c.e.fail(g.err)
			g.err = maybe(c.e.failed())
			return
		}
		g.sync = marker
	}
	g.view = c.e.newView(g.version)
}

// panicError is the error in a panic of Pebble's log writer. Others panic on.
func panicError(p any) error {
	switch p := p.(type) {
	case fatal:
		return p.err
	case runtime.Error:
	case error:
		return p
	}
	panic(p)
}

// maybe is err for a commit that may have happened all the same.
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

// resolve checks that what r read is still so.
func (c *committer) resolve(r *commitRequest) error {
	conflict, tooOld := c.resolver.conflicts(r.readVersion, r.reads)
	switch {
	case tooOld:
		return errTooOld
	case conflict:
		return errNotCommitted
	}
	return nil
}

// apply writes r at the group's version and order. It is in Pebble's memtable and log afterwards, the log not yet synced.
func (c *committer) apply(g *group, r *commitRequest, last bool) error {
	r.version = g.version
	binary.BigEndian.PutUint64(r.stamp[:8], uint64(g.version))
	binary.BigEndian.PutUint16(r.stamp[8:], uint16(g.applied))
	r.fillStamps()
	batch, err := c.complete(r)
	if err != nil {
		return err
	}
	if g.applied == 0 {
		_ = batch.Set(versionKey, r.stamp[:8], nil)
	}
	g.applied++
	if last {
		if err = c.e.db.ApplyNoSyncWait(batch, syncInLog); err == nil {
			g.sync = batch
		}
	} else if err = c.e.db.Apply(batch, syncLater); err == nil {
		err = batch.Close()
	}
	if err != nil {
		return err
	}
	c.resolver.add(r.writes, g.version)
	if r.stamped != nil {
		c.resolver.add(r.stamped, g.version)
	}
	return nil
}

// fillStamps puts the versionstamp wherever the transaction left room for it, and notes the keys that it makes.
func (r *commitRequest) fillStamps() {
	repr := r.batch.Repr()
	for _, at := range r.stamps {
		copy(repr[at:], r.stamp[:])
	}
	if len(r.keys)+len(r.late) == 0 {
		return
	}
	spans := make([]span, 0, len(r.keys)+len(r.late))
	for _, k := range r.keys {
		spans = append(spans, pointSpan(repr[k.pos:k.pos+k.len:k.pos+k.len]))
	}
	for _, s := range r.late {
		copy(s.key[s.offset:], r.stamp[:])
		if !slices.ContainsFunc(s.cleared, func(c span) bool { return c.endsAfter(s.key) && bytes.Compare(c.begin, s.key) <= 0 }) {
			_ = r.batch.Set(s.key, s.value, nil)
			spans = append(spans, pointSpan(s.key))
		}
	}
	r.stamped = newRun(unite(spans))
}

// complete adds to r's batch what depends on what is stored: the rows to clear, which come first, and the merges.
func (c *committer) complete(r *commitRequest) (*pebble.Batch, error) {
	batch := r.batch
	if len(r.cleared) > 0 {
		batch = c.e.db.NewBatchWithSize(r.batch.Len() + 256)
		if err := c.clear(batch, r.cleared); err != nil {
			return nil, err
		}
		if !r.batch.Empty() {
			if err := batch.Apply(r.batch, nil); err != nil {
				return nil, err
			}
		}
		if err := r.batch.Close(); err != nil {
			return nil, err
		}
		r.batch = nil
	}
	for _, w := range r.merges {
		var stored []byte
		var err error
		if w.kind == kindStamped {
			copy(w.value[w.offset:], r.stamp[:])
			stored = w.value
		} else if stored, err = readCopy(c.e.db, w.key); err != nil {
			return nil, err
		}
		if value, exists := fold(w.ops, stored, stored != nil); exists {
			_ = batch.Set(w.key, value, nil)
		} else {
			_ = batch.Delete(w.key, nil)
		}
	}
	return batch, nil
}

// fewRows is up to how many rows of a cleared range are deleted one by one. Pebble pays for every range deletion at every read near it until it
// is compacted away, and most ranges that are cleared hold a handful of rows or none.
const fewRows = 64

// clear adds the deletion of all rows in the ranges to batch.
func (c *committer) clear(batch *pebble.Batch, ranges []span) (err error) {
	iter, err := c.e.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	for _, r := range ranges {
		iter.SetBounds(lowerBound(r), r.end)
		n := 0
		for ok := iter.First(); ok && n <= fewRows; ok = iter.Next() {
			n++
		}
		if err := iter.Error(); err != nil {
			return err
		}
		if n > fewRows {
			_ = batch.DeleteRange(r.begin, r.end, nil)
			continue
		}
		for ok := n > 0 && iter.First(); ok; ok = iter.Next() {
			_ = batch.Delete(iter.Key(), nil)
		}
	}
	return iter.Error()
}

// sync is the syncer: it waits for each group to be on disk, makes its version readable, fires watches and answers.
func (c *committer) sync() {
	defer c.e.running.Done()
	for g := range c.synced {
		if g.sync != nil {
			if err := g.sync.SyncWait(); err != nil && g.err == nil {
				c.e.fail(err)
				g.err = maybe(c.e.failed())
			}
		}
		if g.err == nil && g.view != nil {
			c.e.views.publish(g.view)
			c.e.watches.notify(g)
		} else if g.view != nil {
			g.view.refuse()
		}
		for _, r := range g.requests {
			if r.err == nil {
				r.err = g.err
			}
			close(r.done)
		}
		if g.sync != nil && g.err == nil {
			_ = g.sync.Close() // it is applied; closing only gives its memory back
		}
	}
}

package embedded

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// view is one committed and synced version of the store: a Pebble snapshot that all transactions with that read version share.
//
// It stays open while it is the newest, while a transaction or a long snapshot holds it, and at most for the transaction time limit after it was replaced,
// unless a long snapshot holds it.
type view struct {
	version int64
	snap    *pebble.Snapshot
	rows    *rows // the engine's
	closer  *snapshotCloser
	// standby is set where the database below is closed once nobody reads it any more: cursors keep such a view open.
	standby bool

	// gate counts the reads under way; viewShut in it stops new ones. Whoever brings it to viewShut alone closes the snapshot.
	gate atomic.Int64

	// Below is guarded by views.mu.

	holders  int // transactions, long snapshots, and one for being the newest
	pins     int // long snapshots
	next     int64
	replaced time.Time
	shut     bool
}

const viewShut = 1 << 62

// viewBytes is the memory of a view with its snapshot, nearly. What a snapshot keeps from being thrown away is on disk or in memtables, which have bounds of
// their own.
const viewBytes = 256

// enter begins a read. It is false where the view is shut; otherwise the caller leaves.
func (v *view) enter() bool {
	for {
		n := v.gate.Load()
		if n&viewShut != 0 {
			return false
		}
		if v.gate.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (v *view) leave() {
	if v.gate.Add(-1) == viewShut {
		v.close()
	}
}

// refuse stops new reads and closes the snapshot after the last one under way. Called once.
func (v *view) refuse() {
	if v.gate.Add(viewShut) == viewShut {
		v.close()
	}
}

func (v *view) close() { v.closer.push(v.snap) }

// snapshotCloser closes Pebble snapshots on a goroutine of its own: Pebble then looks for compactions, and may wait for a write to the manifest, which is
// no business of the transaction that happened to be the last. It closes many at a time, for which Pebble looks once.
type snapshotCloser struct {
	open sync.WaitGroup // snapshots that are not closed yet
	wake chan struct{}  // one token while there are enough to close, or some are overdue
	quit chan struct{}  // closed by stop. Not wake: a push may signal after its snapshot was closed
	done chan struct{}  // closed when the goroutine has ended

	mu struct {
		sync.Mutex
		waiting []*pebble.Snapshot
		ending  bool // each is closed at once
	}
}

// closeTogether snapshots wait for each other, but for no longer than until the sweeper comes by: they keep what was overwritten from being thrown away.
const closeTogether = 32

// newView is the state of a database as it is now.
func (c *snapshotCloser) newView(db *pebble.DB, rows *rows, version int64) *view {
	c.open.Add(1)
	return &view{version: version, snap: db.NewSnapshot(), rows: rows, closer: c}
}

func (c *snapshotCloser) start() {
	c.wake, c.quit, c.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go c.run()
}

func (c *snapshotCloser) push(s *pebble.Snapshot) {
	c.mu.Lock()
	c.mu.waiting = append(c.mu.waiting, s)
	enough := c.mu.ending || len(c.mu.waiting) >= closeTogether
	c.mu.Unlock()
	if enough {
		c.signal()
	}
}

// signal has all that wait closed.
func (c *snapshotCloser) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *snapshotCloser) run() {
	defer close(c.done)
	for {
		select {
		case <-c.wake:
		case <-c.quit:
			return
		}
		c.mu.Lock()
		waiting := c.mu.waiting
		c.mu.waiting = nil
		c.mu.Unlock()
		// The oldest last: only that one lets Pebble look for compactions.
		for _, s := range slices.Backward(waiting) {
			_ = s.Close() // the only error is a closed database, which waits for this
			c.open.Done()
		}
	}
}

// stop waits until all snapshots are closed, which their holders must have given back, and ends the goroutine.
func (c *snapshotCloser) stop() {
	c.mu.Lock()
	c.mu.ending = true
	c.mu.Unlock()
	c.signal()
	c.open.Wait()
	close(c.quit)
	<-c.done
}

// views are the versions that can be read.
type views struct {
	limit time.Duration // how long after it was replaced a version can be read

	mu struct {
		sync.Mutex
		newest *view
		held   []*view // replaced ones that are still held, by version
		closed bool
	}
}

// publish makes v the newest version. v's version is above all before it.
func (vs *views) publish(v *view) {
	now := time.Now()
	v.holders = 1
	vs.mu.Lock()
	old := vs.mu.newest
	vs.mu.newest = v
	if old != nil {
		old.next, old.replaced = v.version, now
		if old.holders--; old.holders > 0 {
			vs.mu.held = append(vs.mu.held, old)
			old = nil
		} else {
			old.shut = true
		}
	}
	vs.mu.Unlock()
	if old != nil {
		old.refuse()
	}
}

// acquire returns the newest version, held until release.
func (vs *views) acquire() (*view, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.mu.closed {
		return nil, errClosed
	}
	vs.mu.newest.holders++
	return vs.mu.newest, nil
}

// acquireAt returns the state at version, if it is held.
func (vs *views) acquireAt(version int64) (*view, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.mu.closed {
		return nil, errClosed
	}
	v := vs.mu.newest
	if version > v.version {
		return nil, errFuture
	}
	if version < v.version {
		held := vs.mu.held
		i := sort.Search(len(held), func(i int) bool { return held[i].next > version })
		if i == len(held) || held[i].version > version || held[i].shut {
			return nil, errTooOld
		}
		v = held[i]
	}
	v.holders++
	return v, nil
}

// pin keeps v, which the caller holds, open beyond the time limit until unpin.
func (vs *views) pin(v *view, by int) {
	vs.mu.Lock()
	v.pins += by
	vs.mu.Unlock()
}

// release gives back what acquire returned.
func (vs *views) release(v *view) {
	vs.mu.Lock()
	v.holders--
	last := v.holders == 0 && !v.shut
	if last {
		v.shut = true
		vs.drop(v)
	}
	vs.mu.Unlock()
	if last {
		v.refuse()
	}
}

// drop takes v out of held. Called with mu locked.
func (vs *views) drop(v *view) {
	held := vs.mu.held
	i := sort.Search(len(held), func(i int) bool { return held[i].version >= v.version })
	if i < len(held) && held[i] == v {
		vs.mu.held = append(held[:i], held[i+1:]...)
	}
}

// sweep shuts the versions whose transactions all are past the time limit, whether or not they were given back.
func (vs *views) sweep(now time.Time) {
	var overdue []*view
	vs.mu.Lock()
	kept := vs.mu.held[:0]
	for _, v := range vs.mu.held {
		if v.pins == 0 && now.Sub(v.replaced) > vs.limit {
			v.shut = true
			overdue = append(overdue, v)
			continue
		}
		kept = append(kept, v)
	}
	clear(vs.mu.held[len(kept):])
	vs.mu.held = kept
	vs.mu.Unlock()
	for _, v := range overdue {
		v.refuse()
	}
}

// version is the newest version.
func (vs *views) version() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.mu.newest.version
}

// count is the number of versions held, the newest included.
func (vs *views) count() int {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return len(vs.mu.held) + 1
}

// close shuts every version. Reads under way end on their own and close their snapshots.
func (vs *views) close() {
	vs.mu.Lock()
	vs.mu.closed = true
	all := append(vs.mu.held, vs.mu.newest)
	vs.mu.held = nil
	for _, v := range all {
		v.shut = true
	}
	vs.mu.Unlock()
	for _, v := range all {
		v.refuse()
	}
}

// oldest is the oldest version that is held.
func (vs *views) oldest() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.mu.held) > 0 {
		return vs.mu.held[0].version
	}
	return vs.mu.newest.version
}

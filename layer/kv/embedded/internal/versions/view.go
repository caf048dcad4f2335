package versions

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/rowcache"
)

// View is one committed and synced version of the store: a Pebble snapshot that all transactions with that read version
// share.
//
// It stays open while it is the newest, while a transaction or a long snapshot holds it, and at most for the
// transaction time limit after it was replaced, unless a long snapshot holds it.
type View struct {
	Version int64
	snap    *pebble.Snapshot
	rows    *rowcache.Cache // the engine's
	closer  *Closer
	// Standby is set where the database below is closed once nobody reads it any more: cursors keep such a view open.
	Standby bool

	// gate counts the reads under way; viewShut in it stops new ones. Whoever brings it to viewShut alone closes the
	// snapshot.
	gate atomic.Int64

	// Below is guarded by views.mu.

	holders  int // transactions, long snapshots, and one for being the newest
	pins     int // long snapshots
	next     int64
	replaced time.Time
	shut     bool
}

const viewShut = 1 << 62

// ViewBytes is the memory of a view with its snapshot, nearly. What a snapshot keeps from being thrown away is on disk
// or in memtables, which have bounds of their own.
const ViewBytes = 256

// enter begins a read. It is false where the view is shut; otherwise the caller leaves.
func (v *View) enter() bool {
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

func (v *View) leave() {
	if v.gate.Add(-1) == viewShut {
		v.close()
	}
}

// Refuse stops new reads and closes the snapshot after the last one under way. Called once.
func (v *View) Refuse() {
	if v.gate.Add(viewShut) == viewShut {
		v.close()
	}
}

func (v *View) close() { v.closer.push(v.snap) }

// Closer closes Pebble snapshots on a goroutine of its own: Pebble then looks for compactions, and may wait for a write
// to the manifest, which is no business of the transaction that happened to be the last. It closes many at a time, for
// which Pebble looks once.
type Closer struct {
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

// closeTogether snapshots wait for each other, but for no longer than until the sweeper comes by: they keep what was
// overwritten from being thrown away.
const closeTogether = 32

// NewView is the state of a database as it is now.
func (c *Closer) NewView(db *pebble.DB, rows *rowcache.Cache, version int64) *View {
	c.open.Add(1)
	return &View{Version: version, snap: db.NewSnapshot(), rows: rows, closer: c}
}

// Start starts the goroutine.
func (c *Closer) Start() {
	c.wake, c.quit, c.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go c.run()
}

func (c *Closer) push(s *pebble.Snapshot) {
	c.mu.Lock()
	c.mu.waiting = append(c.mu.waiting, s)
	enough := c.mu.ending || len(c.mu.waiting) >= closeTogether
	c.mu.Unlock()
	if enough {
		c.Signal()
	}
}

// Signal has all that wait closed.
func (c *Closer) Signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Closer) run() {
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

// Stop waits until all snapshots are closed, which their holders must have given back, and ends the goroutine.
func (c *Closer) Stop() {
	c.mu.Lock()
	c.mu.ending = true
	c.mu.Unlock()
	c.Signal()
	c.open.Wait()
	close(c.quit)
	<-c.done
}

// Views are the versions that can be read.
type Views struct {
	Limit time.Duration // how long after it was replaced a version can be read

	mu struct {
		sync.Mutex
		newest *View
		held   []*View // replaced ones that are still held, by version
		closed bool
	}
}

// Publish makes v the newest version. v's version is above all before it.
func (vs *Views) Publish(v *View) {
	now := time.Now()
	v.holders = 1
	vs.mu.Lock()
	old := vs.mu.newest
	vs.mu.newest = v
	if old != nil {
		old.next, old.replaced = v.Version, now
		if old.holders--; old.holders > 0 {
			vs.mu.held = append(vs.mu.held, old)
			old = nil
		} else {
			old.shut = true
		}
	}
	vs.mu.Unlock()
	if old != nil {
		old.Refuse()
	}
}

// Acquire returns the newest version, held until release.
func (vs *Views) Acquire() (*View, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.mu.closed {
		return nil, failure.ErrClosed
	}
	vs.mu.newest.holders++
	return vs.mu.newest, nil
}

// AcquireAt returns the state at version, if it is held.
func (vs *Views) AcquireAt(version int64) (*View, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.mu.closed {
		return nil, failure.ErrClosed
	}
	v := vs.mu.newest
	if version > v.Version {
		return nil, failure.ErrFuture
	}
	if version < v.Version {
		held := vs.mu.held
		i := sort.Search(len(held), func(i int) bool { return held[i].next > version })
		if i == len(held) || held[i].Version > version || held[i].shut {
			return nil, failure.ErrTooOld
		}
		v = held[i]
	}
	v.holders++
	return v, nil
}

// Pin keeps v, which the caller holds, open beyond the time limit until unpin.
func (vs *Views) Pin(v *View, by int) {
	vs.mu.Lock()
	v.pins += by
	vs.mu.Unlock()
}

// Release gives back what acquire returned.
func (vs *Views) Release(v *View) {
	vs.mu.Lock()
	v.holders--
	last := v.holders == 0 && !v.shut
	if last {
		v.shut = true
		vs.drop(v)
	}
	vs.mu.Unlock()
	if last {
		v.Refuse()
	}
}

// drop takes v out of held. Called with mu locked.
func (vs *Views) drop(v *View) {
	held := vs.mu.held
	i := sort.Search(len(held), func(i int) bool { return held[i].Version >= v.Version })
	if i < len(held) && held[i] == v {
		vs.mu.held = append(held[:i], held[i+1:]...)
	}
}

// Sweep shuts the versions whose transactions all are past the time limit, whether or not they were given back.
func (vs *Views) Sweep(now time.Time) {
	var overdue []*View
	vs.mu.Lock()
	kept := vs.mu.held[:0]
	for _, v := range vs.mu.held {
		if v.pins == 0 && now.Sub(v.replaced) > vs.Limit {
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
		v.Refuse()
	}
}

// Version is the newest version.
func (vs *Views) Version() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.mu.newest.Version
}

// Count is the number of versions held, the newest included.
func (vs *Views) Count() int {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return len(vs.mu.held) + 1
}

// Close shuts every version. Reads under way end on their own and close their snapshots.
func (vs *Views) Close() {
	vs.mu.Lock()
	vs.mu.closed = true
	all := append(vs.mu.held, vs.mu.newest)
	vs.mu.held = nil
	for _, v := range all {
		v.shut = true
	}
	vs.mu.Unlock()
	for _, v := range all {
		v.Refuse()
	}
}

// Oldest is the oldest version that is held.
func (vs *Views) Oldest() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.mu.held) > 0 {
		return vs.mu.held[0].Version
	}
	return vs.mu.newest.Version
}

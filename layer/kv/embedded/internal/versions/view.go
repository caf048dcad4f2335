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

// View is one committed and synced version of the store: a Pebble snapshot that all transactions with that read
// version share.
//
// It stays open while it is the newest version; afterwards while transactions hold it, up to the transaction time
// limit, or while a long snapshot holds it.
type View struct {
	Version int64
	snap    *pebble.Snapshot
	rows    *rowcache.Cache // the engine's
	closer  *Closer
	idle    idle
	// Standby is set if the database below is closed once nobody reads it any more: cursors keep such a view open.
	Standby bool

	// gate counts the reads in progress; its bit viewShut stops new ones. Whoever brings it to exactly viewShut
	// closes the snapshot.
	gate atomic.Int64

	// The fields below are guarded by Views.mu.

	holders  int // transactions, long snapshots, and one while it is the newest
	pins     int // long snapshots
	next     int64
	replaced time.Time
	shut     bool
}

const viewShut = 1 << 62

// ViewBytes is the approximate memory of a view with its snapshot. The old rows that a snapshot keeps are on disk or
// in memtables, which are bounded separately.
const ViewBytes = 256

// enter begins a read. If it returns true, the caller must call leave; false means that the view is shut.
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

// Refuse stops new reads and closes the snapshot after the last read in progress. Call it once.
func (v *View) Refuse() {
	if v.gate.Add(viewShut) == viewShut {
		v.close()
	}
}

func (v *View) close() { v.closer.push(v.snap) }

// Closer closes Pebble snapshots on its own goroutine. Closing makes Pebble look for compactions, which may wait for
// a write to the manifest and should not delay the transaction that happened to be the last user. Closer closes many
// at a time, so that Pebble looks once.
type Closer struct {
	open sync.WaitGroup // snapshots that are not closed yet
	wake chan struct{}  // one token while there are enough to close, or some are overdue
	// closed by Stop. wake is not closed, because a push may signal after its snapshot was closed
	quit chan struct{}
	done chan struct{} // closed when the goroutine has ended

	mu struct {
		sync.Mutex
		waiting []*pebble.Snapshot
		ending  bool // from now on each is closed at once
	}
}

// closeTogether is the number of snapshots that are closed together. The sweeper closes fewer if they wait for long,
// since they keep overwritten rows from being dropped.
const closeTogether = 32

// NewView returns a view of the current state of db.
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

// Signal has all waiting snapshots closed.
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
		// The oldest is closed last, because only that one makes Pebble look for compactions.
		for _, s := range slices.Backward(waiting) {
			_ = s.Close() // the only error is a closed database, but Close waits for this
			c.open.Done()
		}
	}
}

// Stop waits until all snapshots are closed and ends the goroutine. Their holders must have released them.
func (c *Closer) Stop() {
	c.mu.Lock()
	c.mu.ending = true
	c.mu.Unlock()
	c.Signal()
	c.open.Wait()
	close(c.quit)
	<-c.done
}

// Views are the readable versions.
type Views struct {
	Limit time.Duration // how long a version is readable after it was replaced

	mu struct {
		sync.Mutex
		newest *View
		held   []*View // replaced versions that are still held, sorted
		closed bool
	}
}

// Publish makes v the newest version. Versions must increase.
func (vs *Views) Publish(v *View) {
	now := time.Now()
	v.holders = 1
	vs.mu.Lock()
	old := vs.mu.newest
	replaced := old
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
	if replaced != nil {
		replaced.idle.drop(true)
	}
	if old != nil {
		old.Refuse()
	}
}

// Acquire returns the newest version. The caller holds it until Release.
func (vs *Views) Acquire() (*View, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.mu.closed {
		return nil, failure.ErrClosed
	}
	vs.mu.newest.holders++
	return vs.mu.newest, nil
}

// AcquireAt returns the state at version if it is still held.
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

// Pin keeps v, which the caller holds, open beyond the time limit. A negative by unpins it.
func (vs *Views) Pin(v *View, by int) {
	vs.mu.Lock()
	v.pins += by
	vs.mu.Unlock()
}

// Release releases a view from Acquire.
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

// drop removes v from held. Called with mu locked.
func (vs *Views) drop(v *View) {
	held := vs.mu.held
	i := sort.Search(len(held), func(i int) bool { return held[i].Version >= v.Version })
	if i < len(held) && held[i] == v {
		vs.mu.held = append(held[:i], held[i+1:]...)
	}
}

// Sweep shuts the versions whose transactions are all past the time limit, whether or not they were released, and
// closes idle iterators.
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
	newest := vs.mu.newest
	vs.mu.Unlock()
	newest.idle.drop(false)
	for _, v := range overdue {
		v.Refuse()
	}
}

// Version returns the newest version.
func (vs *Views) Version() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.mu.newest.Version
}

// Count returns the number of versions held, including the newest.
func (vs *Views) Count() int {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return len(vs.mu.held) + 1
}

// Close shuts every version. Reads in progress end on their own and close their snapshots.
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
		v.idle.drop(true)
		v.Refuse()
	}
}

// Oldest returns the oldest version that is held.
func (vs *Views) Oldest() int64 {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if len(vs.mu.held) > 0 {
		return vs.mu.held[0].Version
	}
	return vs.mu.newest.Version
}

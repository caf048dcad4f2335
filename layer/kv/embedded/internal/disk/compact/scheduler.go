package compact

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Scheduler lets Pebble begin as many compactions as CompactionConcurrencyRange says, as Pebble's own scheduler does,
// but none for a while after one has failed over damage: Pebble would try it again at once, thousands of times a
// second. It implements pebble.CompactionScheduler.
type Scheduler struct {
	db pebble.DBForCompaction // set by Register
	// Held is how many wait for a damaged block, see package damage. They are not in the way of others.
	Held *atomic.Int64

	mu struct {
		sync.Mutex
		running  int
		granting bool // by one goroutine at a time
		ended    bool // nothing is granted any more
		paused   time.Time
	}
	granted sync.Cond     // of mu: granting has ended
	More    chan struct{} // one token for the sweeper while more may be granted than before
}

// PauseAfter is for how long no compaction is begun after one has failed over damage.
const PauseAfter = time.Second

var _ pebble.CompactionScheduler = (*Scheduler)(nil)

// Register implements pebble.CompactionScheduler.
func (c *Scheduler) Register(_ int, db pebble.DBForCompaction) {
	c.db = db
	c.granted.L = &c.mu.Mutex
}

// Unregister implements pebble.CompactionScheduler. It waits for calls of the database to end.
func (c *Scheduler) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.ended = true
	for c.mu.granting {
		c.granted.Wait()
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (c *Scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.room() < 1 {
		return false, nil
	}
	c.mu.running++
	return true, c
}

// UpdateGetAllowedWithoutPermission implements pebble.CompactionScheduler. It is called with Pebble's locks held.
func (c *Scheduler) UpdateGetAllowedWithoutPermission() {
	select {
	case c.More <- struct{}{}:
	default:
	}
}

// room is how many more may begin. Called with mu locked.
func (c *Scheduler) room() int {
	if c.mu.ended || time.Now().Before(c.mu.paused) {
		return 0
	}
	// Pebble counts what it allows when tables have changed, and none may have since one began to wait.
	return max(c.db.GetAllowedWithoutPermission(), 1+int(c.Held.Load())) - c.mu.running
}

// AllHeld reports whether all that run wait for damaged blocks, and another could begin if there were one.
func (c *Scheduler) AllHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.running > 0 && int(c.Held.Load()) >= c.mu.running && c.room() > 0 && !c.mu.granting
}

// Pause has no compaction begin for a while: called with pauseAfter when one has failed over damage, before it is done.
func (c *Scheduler) Pause(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.paused = time.Now().Add(d)
}

// Grant begins what waits and may begin. The sweeper calls it, for what waits after a pause or for more room.
func (c *Scheduler) Grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil || c.mu.granting {
		return
	}
	c.mu.granting = true
	for c.room() > 0 {
		c.mu.Unlock()
		waiting, _ := c.db.GetWaitingCompaction()
		begun := waiting && c.db.Schedule(c)
		c.mu.Lock()
		if !begun {
			break
		}
		c.mu.running++
	}
	c.mu.granting = false
	c.granted.Broadcast()
}

// Started, MeasureCPU and CumulativeStats implement pebble.CompactionGrantHandle; what a compaction costs is not asked
// for here.
func (c *Scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (c *Scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (c *Scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements pebble.CompactionGrantHandle.
func (c *Scheduler) Done() {
	c.mu.Lock()
	c.mu.running--
	c.mu.Unlock()
	c.Grant()
}

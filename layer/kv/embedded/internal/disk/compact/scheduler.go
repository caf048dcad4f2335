package compact

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Scheduler lets Pebble run as many compactions as CompactionConcurrencyRange says, like Pebble's own scheduler, with
// two differences. No compaction begins before the store is open, because pebble.Open would wait for it to end. And
// none begins for a while after one has failed because of damage, because Pebble would retry it at once, thousands of
// times a second. It implements pebble.CompactionScheduler.
type Scheduler struct {
	db pebble.DBForCompaction // set by Register
	// Held counts the compactions that wait for a damaged block, see package damage. They do not count against the
	// limit.
	Held *atomic.Int64

	mu struct {
		sync.Mutex
		opened   bool // set by Opened
		running  int
		granting bool // one goroutine at a time grants
		ended    bool // nothing is granted any more
		paused   time.Time
	}
	granted sync.Cond     // uses mu; signalled when granting has ended
	More    chan struct{} // one token for the sweeper when more compactions may be allowed than before
}

// PauseAfter is the pause after a compaction has failed because of damage.
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

// Opened lets compactions begin. It is called once pebble.Open has returned, and does not wait for one.
func (c *Scheduler) Opened() {
	c.mu.Lock()
	c.mu.opened = true
	c.mu.Unlock()
	c.Grant()
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

// room returns how many more compactions may begin. Called with mu locked.
func (c *Scheduler) room() int {
	if !c.mu.opened || c.mu.ended || time.Now().Before(c.mu.paused) {
		return 0
	}
	// Pebble updates its limit when tables change, which may not have happened since a compaction began to wait.
	return max(c.db.GetAllowedWithoutPermission(), 1+int(c.Held.Load())) - c.mu.running
}

// AllHeld reports whether all running compactions wait for damaged blocks although another one could begin.
func (c *Scheduler) AllHeld() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.running > 0 && int(c.Held.Load()) >= c.mu.running && c.room() > 0 && !c.mu.granting
}

// Pause prevents compactions from beginning for a while. It is called with PauseAfter when one has failed because of
// damage, before Done.
func (c *Scheduler) Pause(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.paused = time.Now().Add(d)
}

// Grant starts waiting compactions as far as they may begin. The sweeper calls it for those that wait after a pause
// or for a higher limit.
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

// Started implements pebble.CompactionGrantHandle. The cost of compactions is not measured.
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

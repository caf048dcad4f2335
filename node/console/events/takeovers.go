package events

import (
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// Takeovers writes what this node takes over to the log: one line for each node that the jobs are from, since there may
// be hundreds. It is safe for concurrent use.
type Takeovers struct {
	log *slog.Logger

	mu     sync.Mutex
	latest map[string]*takeover // by node; until it is logged
}

// NewTakeovers returns Takeovers that write to a log.
func NewTakeovers(log *slog.Logger) *Takeovers {
	return &Takeovers{log: log, latest: map[string]*takeover{}}
}

// takeover has the jobs that were taken from a node at about the same time.
type takeover struct {
	jobs        int
	first, last time.Time
	timer       *time.Timer
}

// tookJobs is what the log says of a take-over.
const tookJobs = "took jobs over from another node"

// takeoverSettles is for how long no further job must be taken over before a take-over is logged.
const takeoverSettles = 2 * time.Second

// Add notes that a job was taken over from a node.
func (t *Takeovers) Add(from string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	one := t.latest[from]
	if one == nil {
		one = &takeover{first: now}
		t.latest[from] = one
		one.timer = time.AfterFunc(takeoverSettles, func() { t.settled(from, one) })
	}
	one.jobs++
	one.last = now
}

// settled logs a take-over, unless jobs have been taken over meanwhile. Then it looks again later.
func (t *Takeovers) settled(from string, one *takeover) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := takeoverSettles - time.Since(one.last); left > 0 {
		one.timer.Reset(left)
		return
	}
	delete(t.latest, from)
	t.log.Info(tookJobs, "event", string(state.JobTaken), "from_node", from,
		"count", one.jobs, "seconds", one.last.Sub(one.first).Seconds())
}

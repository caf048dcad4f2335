package layer

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Who supersedes bodies notes in memory how many there were in which database. Some seconds later those with enough of
// them are looked at, and get a job where one is due. What a node that died has noted is found by a look at all
// databases, soon after a node starts and once an hour. So a write costs nothing, and a database that nobody writes to
// costs a few reads an hour.

const (
	// compactionLook is how often databases that were written are looked at.
	compactionLook = 5 * time.Second
	// compactionSweep is how often all databases are, after the first time.
	compactionSweep = time.Hour
	// firstCompactionLook is when that is, where the options do not say.
	firstCompactionLook = 30 * time.Second
)

// compactable is the databases that may have something to compact. Safe for concurrent use.
type compactable struct {
	mu    sync.Mutex
	noted map[*core]int64           // since they were looked at
	found map[string]CompactionSeen // by name: those that had something when they were looked at
}

// compactState is what compaction remembers of a Store.
type compactState struct {
	compaction  Compaction
	compactable compactable
	log         *slog.Logger
}

var compactSlot = newSlot[compactState]()

func compactOf(s *dbStore) *compactState { return compactSlot.of(s) }

// CompactionSeen is what a database had to compact when this node looked at it last.
type CompactionSeen struct {
	CompactionState
	At time.Time
}

// noteCompactable notes bodies that were superseded.
func (c *compactState) noteCompactable(of *core, n int64) {
	if !c.compaction.Auto {
		return
	}
	c.compactable.mu.Lock()
	defer c.compactable.mu.Unlock()
	if c.compactable.noted == nil {
		c.compactable.noted = map[*core]int64{}
	}
	c.compactable.noted[of] += n
}

// noteSuperseded notes the bodies that an attempt of a transaction has superseded: one that is not committed costs a
// look.
func noteSuperseded(t *txn) {
	if t.superseded > 0 {
		compactOf(t.db.store).noteCompactable(t.core, int64(t.superseded))
	}
}

// take returns the databases of which at least so many bodies were noted.
func (c *compactable) take(least int64) (list []*core) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for core, n := range c.noted {
		if n >= least {
			list = append(list, core)
			delete(c.noted, core)
		}
	}
	return list
}

// saw notes what a database has, nil that it has nothing or is gone.
func (c *compactable) saw(name string, state *CompactionState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == nil || state.Superseded == 0 && state.Other == 0 && state.Requested == 0 {
		delete(c.found, name)
		return
	}
	if c.found == nil {
		c.found = map[string]CompactionSeen{}
	}
	c.found[name] = CompactionSeen{*state, time.Now()}
}

// Compactable is what the databases have to compact, by name, as this node saw it: those that it writes to some seconds
// ago, others within the last hour.
func (s *dbStore) Compactable() map[string]CompactionSeen {
	c := &compactOf(s).compactable
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]CompactionSeen, len(c.found))
	for name, x := range c.found {
		all[name] = x
	}
	return all
}

// keepCompacted looks for databases to compact until ctx ends.
func (s *dbStore) keepCompacted(ctx context.Context) {
	tick := time.NewTicker(compactionLook)
	defer tick.Stop()
	c := compactOf(s)
	first := c.compaction.FirstLook
	if first == 0 {
		first = firstCompactionLook
	}
	sweep := time.NewTimer(first)
	defer sweep.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err = s.lookNoted(ctx)
		case <-sweep.C:
			next := compactionSweep
			look := func(ctx context.Context, d *Database) error { return s.lookCompactable(ctx, d) }
			if err = s.eachDatabase(ctx, look); KindOf(err) == Unavailable {
				next = firstCompactionLook // the others were not looked at
			}
			sweep.Reset(next)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("cannot find out what there is to compact", "error", err)
		}
	}
}

// lookNoted looks at the databases that were written: at those with a quarter of what starts a compaction.
func (s *dbStore) lookNoted(ctx context.Context) error {
	var failed error
	c := compactOf(s)
	for _, written := range c.compactable.take(max(1, c.compaction.Bodies/4)) {
		if err := s.lookCompactable(ctx, s.handle(written)); err != nil && KindOf(err) != NotFound {
			failed = err
		}
	}
	return failed
}

// lookCompactable looks at a database, and enqueues its job where it is due.
func (s *dbStore) lookCompactable(ctx context.Context, d *Database) error {
	c := compactOf(s)
	state, err := d.CompactionState(ctx)
	if err != nil {
		if KindOf(err) == NotFound {
			c.compactable.saw(d.name, nil)
		}
		return err
	}
	c.compactable.saw(d.name, &state)
	in := state.due(c.compaction)
	if in < 0 {
		return nil
	}
	job, w, err := s.Job(ctx, CompactionJobs, d.name)
	if err != nil {
		return err
	}
	w.Cancel()
	if job != nil && job.State != JobFinished {
		return nil // it looks again at its end; one that failed waits out its pause
	}
	return s.EnqueueAfter(ctx, CompactionJobs, d.name, nil, in)
}

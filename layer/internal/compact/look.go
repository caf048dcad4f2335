package compact

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/upkeep"
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
	noted map[*db.Core]int64        // since they were looked at
	found map[string]CompactionSeen // by name: those that had something when they were looked at
}

// State is what compaction remembers of a Store.
type State struct {
	Compaction  Compaction
	compactable compactable
	Log         *slog.Logger
}

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// CompactionSeen is what a database had to compact when this node looked at it last.
type CompactionSeen struct {
	CompactionState
	At time.Time
}

// noteCompactable notes bodies that were superseded.
func (c *State) noteCompactable(of *db.Core, n int64) {
	if !c.Compaction.Auto {
		return
	}
	c.compactable.mu.Lock()
	defer c.compactable.mu.Unlock()
	if c.compactable.noted == nil {
		c.compactable.noted = map[*db.Core]int64{}
	}
	c.compactable.noted[of] += n
}

// NoteSuperseded notes the bodies that an attempt of a transaction has superseded: one that is not committed costs a
// look.
func NoteSuperseded(t *db.Txn) {
	if t.Superseded > 0 {
		StateOf(t.Db.Store).noteCompactable(t.Core, int64(t.Superseded))
	}
}

// take returns the databases of which at least so many bodies were noted.
func (c *compactable) take(least int64) (list []*db.Core) {
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
func (s Store) Compactable() map[string]CompactionSeen {
	c := &StateOf(s.Store).compactable
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]CompactionSeen, len(c.found))
	for name, x := range c.found {
		all[name] = x
	}
	return all
}

// Looks are the looks for databases to compact: at those that were written, and at all.
func Looks(s *db.Store) []upkeep.Kind {
	first := StateOf(s).Compaction.FirstLook
	if first == 0 {
		first = firstCompactionLook
	}
	const failed = "cannot find out what there is to compact"
	return []upkeep.Kind{{
		Name: "compaction_look_written", First: compactionLook, Every: compactionLook, Failed: failed,
		Run: func(ctx context.Context) error { return LookNoted(ctx, s) },
	}, {
		Name: "compaction_look_all", First: first, Every: compactionSweep, Failed: failed,
		Run: func(ctx context.Context) error {
			return s.EachDatabase(ctx, func(ctx context.Context, d *db.Database) error {
				return LookCompactable(ctx, s, d)
			})
		},
		Again: func(err error) time.Duration {
			if fault.KindOf(err) == fault.Unavailable && !fault.Local(err) {
				return firstCompactionLook // the others were not looked at
			}
			return compactionSweep
		},
	}}
}

// LookNoted looks at the databases that were written: at those with a quarter of what starts a compaction.
func LookNoted(ctx context.Context, s *db.Store) error {
	var failed error
	c := StateOf(s)
	for _, written := range c.compactable.take(max(1, c.Compaction.Bodies/4)) {
		if err := LookCompactable(ctx, s, s.Handle(written)); err != nil && fault.KindOf(err) != fault.NotFound {
			failed = err
		}
	}
	return failed
}

// LookCompactable looks at a database, and enqueues its job where it is due.
func LookCompactable(ctx context.Context, s *db.Store, d *db.Database) error {
	c := StateOf(s)
	state, err := Of(d).CompactionState(ctx)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			c.compactable.saw(d.Name(), nil)
		}
		return err
	}
	c.compactable.saw(d.Name(), &state)
	in := state.due(c.Compaction)
	if in < 0 {
		return nil
	}
	job, w, err := jobs.OfStore(s).Job(ctx, CompactionJobs, d.Name())
	if err != nil {
		return err
	}
	w.Cancel()
	if job != nil && job.State != jobs.JobFinished {
		return nil // it looks again at its end; one that failed waits out its pause
	}
	return jobs.OfStore(s).EnqueueAfter(ctx, CompactionJobs, d.Name(), nil, in)
}

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

// Transactions that supersede bodies count them in memory, by database. Databases with enough of them are checked a few
// seconds later, and get a job if one is due. What a dead node has counted is found by a check of all databases, soon
// after a node starts and once an hour. So a write costs nothing extra, and an idle database costs a few reads an hour.

const (
	// compactionLook is how often databases with recent writes are checked.
	compactionLook = 5 * time.Second
	// compactionSweep is how often all databases are checked, after the first time.
	compactionSweep = time.Hour
	// firstCompactionLook is the default of Compaction.FirstLook.
	firstCompactionLook = 30 * time.Second
)

// compactable is the set of databases that may need compaction. Safe for concurrent use.
type compactable struct {
	mu    sync.Mutex
	noted map[*db.Core]int64        // superseded bodies since the last check
	found map[string]CompactionSeen // by name: databases that had something to compact when last checked
}

// State is what package compact keeps with a Store.
type State struct {
	Compaction  Compaction
	compactable compactable
	Log         *slog.Logger
}

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// CompactionSeen is what a database had to compact when this node last checked it.
type CompactionSeen struct {
	CompactionState
	At time.Time
}

// noteCompactable counts superseded bodies.
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

// NoteSuperseded counts the bodies that an attempt of a transaction has superseded. If the attempt does not commit, the
// only effect is an unnecessary check.
func NoteSuperseded(t *db.Txn) {
	if t.Superseded > 0 {
		StateOf(t.Db.Store).noteCompactable(t.Core, int64(t.Superseded))
	}
}

// take removes and returns the databases with at least this number of counted bodies.
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

// saw stores the state of a database; nil means that the database is gone.
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

// Compactable returns what the databases have to compact, by name, as last checked by this node: for databases with
// recent writes a few seconds ago, for others within the last hour.
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

// Looks returns the background checks: of the databases with recent writes, and of all databases.
func Looks(s *db.Store) []upkeep.Kind {
	first := StateOf(s).Compaction.FirstLook
	if first == 0 {
		first = firstCompactionLook
	}
	const failed = "checking databases for compaction"
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
				return firstCompactionLook // the remaining databases were not checked
			}
			return compactionSweep
		},
	}}
}

// LookNoted checks the databases with recent writes that have at least a quarter of the bodies that start a compaction.
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

// LookCompactable checks a database, and enqueues its job if it is due.
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
		return nil // it checks again at its end; a failed job waits for its retry
	}
	return jobs.OfStore(s).EnqueueAfter(ctx, CompactionJobs, d.Name(), nil, in)
}

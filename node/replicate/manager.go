package replicate

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/spec"
)

// Settings are the options of CouchDB's section "replicator", as they are now.
type Settings struct {
	spec.Defaults
	MaxJobs, MaxChurn, MaxHistory int
	Interval                      time.Duration // between two looks at which jobs should run
	HealthThreshold               time.Duration // how long a run must last to end a series of failures
	MissingDocRetry               time.Duration
	SessionRefresh                time.Duration
	Sessions                      bool // log in with /_session where there is one
	MaxDocumentID                 int  // 0: no limit
	UpdateDocs                    bool // write transient states to documents too
	TLS                           TLS
}

// TLS says how servers are verified, and which certificate they are shown.
type TLS struct {
	Verify                    bool
	CAFile, CertFile, KeyFile string
	Password                  string // of KeyFile
	MaxDepth                  int
}

// Options of New.
type Options struct {
	Store *layer.Store
	Node  string // this node's name
	// Settings returns the current settings. It does not block.
	Settings func() Settings
	// Local returns a transport to this server's own databases, at any host, as a user. With moves, documents are
	// written without being validated.
	Local   func(user layer.UserCtx, moves bool) http.RoundTripper
	Version string // of Divan
	Log     *slog.Logger
	// Notify, if not nil, is called after each failure. It must not block.
	Notify func(Failed)
	// StoreAway, if not nil, reports whether the store does not answer, or did not a moment ago. It may wait for it for
	// two seconds. The node logs that once, so what fails because of that is logged for developers only.
	StoreAway func(ctx context.Context) bool
	// Outlast, if not nil, waits as long as the store does not answer, or until ctx ends. It reports whether there was
	// anything to wait for, and returns true only if the store answers again. It may ask the store, for two seconds.
	Outlast func(ctx context.Context) bool
	// StoreSilent is the reason that a node whose store does not answer gives to those who ask it; "" if unknown.
	StoreSilent string
}

// Failed is a run that failed.
type Failed struct {
	Database, Document string // both empty for a replication without a document
	ID                 string
	Source, Target     string // without passwords
	Reason             string
	Errors             int       // failures in a row
	Again              time.Time // when it is tried again; zero: never
}

// Manager runs the replications of a node. It is an actors.ReplicationWorker, and safe for concurrent use.
type Manager struct {
	o       Options
	ends    *opener
	listing listing

	reportEvery, pendingWithin time.Duration // other ones in tests

	mu      sync.Mutex
	running map[string]*run // by job
	changed func()          // set by Attach
	share   share
	counts  Counts
}

// Counts are counters for metrics, since the start of the process.
type Counts struct {
	Running                                   int
	Starts, Completed, Crashes, Stops, Failed int64
	DocsRead, DocsWritten, WriteFailures      int64
}

// New returns a Manager.
func New(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{o: o, running: map[string]*run{}, changed: func() {}, listing: listing{turn: make(chan struct{}, 1)},
		share:       share{owns: func(string) bool { return true }, left: map[string]time.Time{}},
		reportEvery: reportEvery, pendingWithin: pendingWithin}
	m.ends = &opener{&m.o}
	return m
}

// Limit implements actors.ReplicationWorker.
func (m *Manager) Limit() int { return m.o.Settings().MaxJobs }

// Attach implements actors.ReplicationWorker.
func (m *Manager) Attach(changed func(), owns func(job string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed, m.share.owns = changed, owns
}

// SettingsChanged lets the node run more jobs if it may, or fewer.
func (m *Manager) SettingsChanged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed()
}

// Counts returns the counters.
func (m *Manager) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Running = len(m.running)
	return c
}

func (m *Manager) count(add func(*Counts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.counts)
}

// Run looks from time to time whether jobs wait for a turn or belong on another node, until ctx ends. At its start and
// whenever found receives, it looks for documents that have no job: of databases that were imported, or written by an
// earlier version of Divan. Whenever deleted receives, it looks for jobs of databases that were deleted.
func (m *Manager) Run(ctx context.Context, found, deleted <-chan struct{}) {
	m.discover(ctx)
	turns := time.NewTimer(m.o.Settings().Interval)
	defer turns.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-found:
			m.discover(ctx)
		case <-deleted:
			m.release(ctx)
		case <-turns.C:
			m.rotate(ctx)
			turns.Reset(m.o.Settings().Interval)
		}
	}
}

// rotate leaves continuous replications to the nodes on which they belong. And it stops some if others wait for their
// turn, those that have run longest first. They go to the end of the queue.
func (m *Manager) rotate(ctx context.Context) {
	s := m.o.Settings()
	m.mu.Lock()
	m.share.leave(m.running, s.MaxChurn)
	excess := max(0, len(m.running)-s.MaxJobs)
	full := len(m.running) >= s.MaxJobs
	m.mu.Unlock()
	if !full {
		return
	}
	waiting := 0
	if s.MaxChurn > excess {
		var err error
		if waiting, err = m.o.Store.Waiting(ctx, layer.ReplicationJobs, s.MaxChurn-excess); err != nil {
			m.o.Log.Log(ctx, m.o.storeLevel(ctx, err), "waiting replications could not be counted", "error", err)
		}
	}
	stopped := m.stopSome(excess+waiting, true)
	if stopped < excess {
		m.stopSome(excess-stopped, false)
	}
}

// release resubmits the jobs of documents that were deleted with their database, on whatever node they run: whoever
// works on them, or does so next, finds that there is nothing to do. If this node dies before, runs end at their next
// review.
func (m *Manager) release(ctx context.Context) {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(releasedAtOnce)
	for j, err := range m.o.Store.JobsOf(within, layer.ReplicationJobs, "") {
		g.Go(func() error {
			var what layer.ReplicationJob
			if err != nil || json.Unmarshal(j.Data, &what) != nil || what.Document == "" || !live(&j) {
				return err
			}
			if _, doc, err := documentOf(within, m.o.Store, what); err != nil || doc != nil {
				return err
			}
			return m.o.Store.Enqueue(within, j.Type, j.ID, j.Data)
		})
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		m.o.Log.Log(ctx, m.o.storeLevel(ctx, err), "replications of deleted databases could not be ended", "error", err)
	}
}

// releasedAtOnce is how many jobs are looked at at the same time.
const releasedAtOnce = 32

// stopSome stops up to n replications that are, or are not, continuous. It returns how many.
func (m *Manager) stopSome(n int, continuous bool) (stopped int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; stopped < n; stopped++ {
		var longest *run
		for _, r := range m.running {
			if !r.copying || r.yields || r.continuous != continuous {
				continue
			}
			if longest == nil || r.began.Before(longest.began) {
				longest = r
			}
		}
		if longest == nil {
			return stopped
		}
		longest.end()
	}
	return stopped
}

// end lets the run end, for others. Called with Manager.mu locked.
func (r *run) end() {
	r.yields = true
	close(r.yield)
}

// discover enqueues the jobs of documents that have none.
func (m *Manager) discover(ctx context.Context) {
	for name, err := range m.o.Store.Names(ctx, layer.NamesOptions{Limit: -1}) {
		if err != nil {
			if ctx.Err() == nil {
				m.o.Log.Log(ctx, m.o.storeLevel(ctx, err), "_replicator databases could not be looked for", "error",
					err)
			}
			return
		}
		if !layer.IsReplicator(name) {
			continue
		}
		if err := m.discoverIn(ctx, name); err != nil && ctx.Err() == nil {
			m.o.Log.Log(ctx, m.o.storeLevel(ctx, err), "the documents of a _replicator database could not be read",
				"database", name, "error", err)
		}
	}
}

func (m *Manager) discoverIn(ctx context.Context, name string) error {
	known := map[string]bool{}
	for j, err := range m.o.Store.JobsOf(ctx, layer.ReplicationJobs, layer.ReplicationJobID(name, "")) {
		if err != nil {
			return err
		}
		known[j.ID] = live(&j)
	}
	db, err := m.o.Store.Database(ctx, name)
	if err != nil {
		return err
	}
	list, err := db.AllDocs(ctx, layer.AllDocsOptions{Limit: -1, IncludeDocs: true, Only: layer.WithoutDesigns})
	if err != nil {
		return err
	}
	for row, err := range list.Rows {
		if err != nil {
			return err
		}
		id := layer.ReplicationJobID(name, row.ID)
		if row.Doc == nil || known[id] || isTerminal(row.Doc.Body) {
			continue
		}
		data := layer.ReplicationJob{Database: name, Document: row.ID}.Encode()
		if err := m.o.Store.Enqueue(ctx, layer.ReplicationJobs, id, data); err != nil {
			return err
		}
	}
	return nil
}

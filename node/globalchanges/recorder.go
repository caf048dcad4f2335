package globalchanges

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

const (
	// gather is how long events are gathered after the first one, and gap the least time between two rounds.
	gather = 25 * time.Millisecond
	gap    = 500 * time.Millisecond
	// batch is how many entries are written at once.
	batch = 100
	// again is the pause after a failure.
	again = time.Second
	// lastWords bounds the time that a node which stops spends on recording.
	lastWords = time.Second
)

// Event is something that has happened to a database.
type Event struct {
	What     layer.DatabaseEvent
	Database string
}

// id returns the id of the event's entry.
func (e Event) id() string { return string(e.What) + ":" + e.Database }

// Recorder records the events of one node. Its methods may be called at any time.
type Recorder struct {
	log       *slog.Logger
	woken     chan struct{} // capacity 1: there are events
	comparing chan struct{} // capacity 1: compare

	mu struct {
		sync.Mutex
		pending map[Event]struct{} // no more than three for each database
	}
}

// New returns a Recorder that records nothing yet.
func New(log *slog.Logger) *Recorder {
	r := &Recorder{log: log, woken: make(chan struct{}, 1), comparing: make(chan struct{}, 1)}
	r.mu.pending = map[Event]struct{}{}
	return r
}

// Happened notes an event. It does not block.
func (r *Recorder) Happened(what layer.DatabaseEvent, database string) {
	if database == layer.GlobalChangesDatabase {
		return // its own entries
	}
	r.mu.Lock()
	r.mu.pending[Event{what, database}] = struct{}{}
	r.mu.Unlock()
	wake(r.woken)
}

// Compare has the entries compared with the databases.
func (r *Recorder) Compare() { wake(r.comparing) }

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // already woken
	}
}

// Start begins to record in a store. stop writes what is left, and waits.
func (r *Recorder) Start(store *layer.Store) (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.run(ctx, store)
	}()
	r.Compare()
	return func(stopping context.Context) error {
		cancel()
		<-done
		last, cancel := context.WithTimeout(stopping, lastWords)
		defer cancel()
		return r.record(last, store)
	}
}

func (r *Recorder) run(ctx context.Context, store *layer.Store) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	sleep := func(d time.Duration) bool {
		pause.Reset(d)
		select {
		case <-pause.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	failed := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-r.comparing:
			if err = r.compare(ctx, store); err != nil {
				r.Compare()
			}
		case <-r.woken:
			if !sleep(gather) {
				return
			}
			if err = r.record(ctx, store); err != nil {
				wake(r.woken)
			}
		}
		if err != nil && ctx.Err() == nil && !failed {
			r.log.Log(ctx, storeLevel(err), "changes of databases are not recorded until the store answers",
				"error", err)
		}
		failed = err != nil
		rest := gap - gather
		if failed {
			rest = again
		}
		if !sleep(rest) {
			return
		}
	}
}

// take returns the pending events, which are no longer pending.
func (r *Recorder) take() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := make([]Event, 0, len(r.mu.pending))
	for e := range r.mu.pending {
		events = append(events, e)
	}
	clear(r.mu.pending)
	return events
}

// record writes the entries of the pending events. After an error, those that may not have been written are pending
// again.
func (r *Recorder) record(ctx context.Context, store *layer.Store) error {
	events := r.take()
	if len(events) == 0 {
		return nil
	}
	db, err := store.Database(ctx, layer.GlobalChangesDatabase)
	if err != nil && layer.KindOf(err) == layer.NotFound {
		return nil
	}
	for err == nil && len(events) > 0 {
		n := min(batch, len(events))
		if err = write(ctx, db, events[:n]); err == nil {
			events = events[n:]
		}
	}
	if err != nil && layer.KindOf(err) == layer.NotFound {
		return nil // deleted meanwhile
	}
	r.mu.Lock()
	for _, e := range events {
		r.mu.pending[e] = struct{}{}
	}
	r.mu.Unlock()
	return err
}

// write writes entries anew. A conflict means that another node has done so, after the event.
func write(ctx context.Context, db *layer.Database, events []Event) error {
	edits := make([]layer.Edit, 0, len(events))
	for _, e := range events {
		edit := layer.Edit{ID: e.id(), Body: []byte("{}")}
		old, err := db.Get(ctx, edit.ID, layer.GetOptions{})
		switch {
		case err == nil:
			edit.Rev = old.Rev
		case layer.KindOf(err) != layer.NotFound:
			return err
		}
		edits = append(edits, edit)
	}
	results, err := db.Bulk(ctx, edits, layer.WriteOptions{})
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil && layer.KindOf(r.Err) != layer.Conflict {
			return r.Err
		}
	}
	return nil
}

// storeLevel is the level of a failure: the node tells the operator of a store that does not answer.
func storeLevel(err error) slog.Level {
	if kind := layer.KindOf(err); (kind == layer.Unavailable || kind == layer.Timeout) && !layer.Local(err) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

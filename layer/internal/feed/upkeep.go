package feed

import (
	"context"
	"log/slog"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
)

// closingEvery is the number of entries written by this Store after which a database's changes are counted.
const closingEvery = 4 * closingBatch

// State is what the feed keeps with a Store.
type State struct {
	Shape    Shape
	Closings feedClosings
	Log      *slog.Logger
}

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// feedClosings is the queue of databases whose changes are to be counted. One goroutine of the Store does so, one
// database after the other. Nothing waits for it.
type feedClosings struct {
	Wake chan struct{} // capacity 1, never closed

	mu struct {
		sync.Mutex
		due   []*db.Database
		asked map[*db.Database]bool // the databases in due
	}
}

// ask queues a database.
func (f *feedClosings) ask(d *db.Database) {
	// The store is read-only.
	if f.Wake == nil {
		return
	}
	d = d.Shared()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.asked[d] {
		return
	}
	if f.mu.asked == nil {
		f.mu.asked = map[*db.Database]bool{}
	}
	f.mu.asked[d] = true
	f.mu.due = append(f.mu.due, d)
	select {
	case f.Wake <- struct{}{}:
	default:
	}
}

// next removes and returns the first database in the queue, or nil.
func (f *feedClosings) next() *db.Database {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.due) == 0 {
		return nil
	}
	d := f.mu.due[0]
	f.mu.due[0] = nil
	f.mu.due = f.mu.due[1:]
	delete(f.mu.asked, d)
	return d
}

// CloseDue counts the changes of all databases in the queue. If this fails, a later write or read of the feed will
// queue the database again.
func (f *State) CloseDue(ctx context.Context) error {
	var first error
	for d := f.Closings.next(); d != nil; d = f.Closings.next() {
		err := closeFeed(ctx, d)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if kind := fault.KindOf(err); err != nil && kind != fault.NotFound && kind != fault.Full {
			f.Log.Warn("counting changes failed", "database", d.Name(), "error", err)
			if first == nil {
				first = err
			}
		}
	}
	return first
}

// NoteEntries counts the entries that an attempt of a transaction has written, and queues the database when there are
// many.
func NoteEntries(t *db.Txn) {
	if n := int64(t.Entries); n > 0 && t.Core.Written.Add(n) >= closingEvery && t.Core.Written.Swap(0) > 0 {
		StateOf(t.Db.Store).Closings.ask(t.Db)
	}
}

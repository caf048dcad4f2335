package feed

import (
	"context"
	"log/slog"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
)

// closingEvery is after how many entries that were written by this Store the counts of a database are brought up.
const closingEvery = 4 * closingBatch

// State is what the feed remembers of a Store.
type State struct {
	Shape    Shape
	Closings feedClosings
	Log      *slog.Logger
}

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// feedClosings are the databases whose counts of changes are to be brought up: by one goroutine of the Store, one
// database after the other. Nothing waits for it.
type feedClosings struct {
	Wake chan struct{} // capacity 1, never closed

	mu struct {
		sync.Mutex
		due   []*db.Database
		asked map[*db.Database]bool // those in due
	}
}

// ask has a database's counts brought up soon.
func (f *feedClosings) ask(d *db.Database) {
	if f.Wake == nil { // the store is only read
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

// next takes the first that is due, nil where there is none.
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

// CloseDue brings up the counts of changes where that was asked for. What fails is asked for again by who writes or
// reads the feed next.
func (f *State) CloseDue(ctx context.Context) error {
	var first error
	for d := f.Closings.next(); d != nil; d = f.Closings.next() {
		err := closeFeed(ctx, d)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if kind := fault.KindOf(err); err != nil && kind != fault.NotFound && kind != fault.Full {
			f.Log.Warn("changes not counted", "database", d.Name(), "error", err)
			if first == nil {
				first = err
			}
		}
	}
	return first
}

// NoteEntries notes the entries that an attempt of a transaction has written.
func NoteEntries(t *db.Txn) {
	if n := int64(t.Entries); n > 0 && t.Core.Written.Add(n) >= closingEvery && t.Core.Written.Swap(0) > 0 {
		StateOf(t.Db.Store).Closings.ask(t.Db)
	}
}

package layer

import (
	"context"
	"log/slog"
	"sync"
)

// closingEvery is after how many entries that were written by this Store the counts of a database are brought up.
const closingEvery = 4 * closingBatch

// feedState is what the feed remembers of a Store.
type feedState struct {
	shape    feedShape
	closings feedClosings
	log      *slog.Logger
}

var feedSlot = newSlot[feedState]()

func feedOf(s *dbStore) *feedState { return feedSlot.of(s) }

// feedClosings are the databases whose counts of changes are to be brought up: by one goroutine of the Store, one
// database after the other. Nothing waits for it.
type feedClosings struct {
	wake chan struct{} // capacity 1, never closed

	mu struct {
		sync.Mutex
		due   []*Database
		asked map[*Database]bool // those in due
	}
}

// ask has a database's counts brought up soon.
func (f *feedClosings) ask(d *Database) {
	if f.wake == nil { // the store is only read
		return
	}
	d = d.Shared()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.asked[d] {
		return
	}
	if f.mu.asked == nil {
		f.mu.asked = map[*Database]bool{}
	}
	f.mu.asked[d] = true
	f.mu.due = append(f.mu.due, d)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// next takes the first that is due, nil where there is none.
func (f *feedClosings) next() *Database {
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

// keep brings up the counts of changes where that is asked for, until ctx ends. What fails is asked for again by
// who writes or reads the feed next.
func (f *feedState) keep(ctx context.Context) {
	for {
		for d := f.closings.next(); d != nil; d = f.closings.next() {
			err := d.closeFeed(ctx)
			if kind := KindOf(err); err != nil && ctx.Err() == nil && kind != NotFound && kind != Full {
				f.log.Warn("changes not counted", "database", d.name, "error", err)
			}
			if ctx.Err() != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-f.closings.wake:
		}
	}
}

// noteEntries notes the entries that an attempt of a transaction has written.
func noteEntries(t *txn) {
	if n := int64(t.entries); n > 0 && t.core.written.Add(n) >= closingEvery && t.core.written.Swap(0) > 0 {
		feedOf(t.db.store).closings.ask(t.db)
	}
}

package actors

import (
	"crypto/rand"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer"
)

// hub is who wants to hear of what on this node. It outlives the actors: a shard actor that restarts finds its audience here. It is also what the database and
// shard actors go by to know which of them are wanted.
type hub struct {
	life   string       // of this node's hub: tallies of another one are not comparable
	serial atomic.Int64 // of wakes
	mu     struct {
		sync.Mutex
		audiences map[Database]map[layer.ShardID]*audience // never empty ones
		// The same for the guard, which goes round them in turn, but looks at the doubtful ones each time.
		round    []*audience
		next     int // of round
		doubtful map[*audience]struct{}
	}
}

func newHub() *hub {
	h := &hub{life: rand.Text()[:8]}
	h.mu.audiences = map[Database]map[layer.ShardID]*audience{}
	h.mu.doubtful = map[*audience]struct{}{}
	return h
}

func (h *hub) tally(wakes int64) string { return h.life + "-" + strconv.FormatInt(wakes, 10) }

// add makes ch a listener of a shard. first is true where nobody wanted to hear of it before.
func (h *hub) add(db Database, shard layer.ShardID, ch chan struct{}) (first bool) {
	h.change(db, shard, func(a *audience) {
		first = len(a.listeners) == 0
		a.listeners[ch] = struct{}{}
	})
	return first
}

// remove is the opposite. last is true where nobody of this node listens any more.
func (h *hub) remove(db Database, shard layer.ShardID, ch chan struct{}) (last bool) {
	h.change(db, shard, func(a *audience) {
		delete(a.listeners, ch)
		last = len(a.listeners) == 0
	})
	return last
}

// wanted is the shards of a database that somebody wants to hear of.
func (h *hub) wanted(db Database) map[layer.ShardID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(map[layer.ShardID]bool, len(h.mu.audiences[db]))
	for shard := range h.mu.audiences[db] {
		w[shard] = true
	}
	return w
}

// count is how many listeners there are; one that listens to several shards counts for each.
func (h *hub) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, shards := range h.mu.audiences {
		for _, a := range shards {
			a.mu.Lock()
			n += len(a.listeners)
			a.mu.Unlock()
		}
	}
	return n
}

// databases is those that somebody wants to hear of.
func (h *hub) databases() []Database {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Database, 0, len(h.mu.audiences))
	for db := range h.mu.audiences {
		list = append(list, db)
	}
	return list
}

// listened reports whether somebody wants to hear of a database.
func (h *hub) listened(db Database) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.audiences[db]) > 0
}

// Listen registers a listener for shards of a database (clause C7). After every commit of an entry in one of them that happens after Listen returned, and
// after a reshard or the deletion of the database, woken receives a value; several wakes may be one, and a wake without reason is allowed. So read the
// feed after Listen, then wait. While the store fails, woken receives values too, at growing pauses, for the reader to find out. The
// channel is never closed. Call cancel when done, once or more.
//
// However many listen, on however many nodes, there is one watch in the store per shard, by the node that the shard's actor is placed on; other nodes are
// woken by it. Where that node fails without a word, a wake may be late by the time it takes to notice (Options.Beat). While nothing can be relied on to wake a
// listener, because actors fail or are stuck, it is woken twice a second.
func (s *System) Listen(db Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	first := false
	for _, shard := range shards {
		first = s.hub.add(db, shard, ch) || first
	}
	if first {
		s.toDatabases(listenersChanged{db})
	}
	var once sync.Once
	return ch, func() {
		once.Do(func() {
			last := false
			for _, shard := range shards {
				last = s.hub.remove(db, shard, ch) || last
			}
			if last {
				s.toDatabases(listenersChanged{db})
			}
		})
	}
}

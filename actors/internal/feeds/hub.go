package feeds

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// hub is who wants to hear of what on this node. It outlives the actors: a shard actor that restarts finds its
// subscribers here. It is also what the database and shard actors go by to know which of them are wanted.
type hub struct {
	life   string       // of this node's hub: tallies of another one are not comparable
	serial atomic.Int64 // of wakes
	mu     struct {
		sync.Mutex
		shards map[ports.Database]map[layer.ShardID]*subscribers // never empty ones
		// The same for the guard, which goes round them in turn, but looks at the doubtful ones each time.
		round    []*subscribers
		next     int // of round
		doubtful map[*subscribers]struct{}
	}
}

func newHub(life string) *hub {
	h := &hub{life: life}
	h.mu.shards = map[ports.Database]map[layer.ShardID]*subscribers{}
	h.mu.doubtful = map[*subscribers]struct{}{}
	return h
}

func (h *hub) tally(wakes int64) string { return h.life + "-" + strconv.FormatInt(wakes, 10) }

// add makes ch a listener of a shard. first is true where nobody wanted to hear of it before.
func (h *hub) add(db ports.Database, shard layer.ShardID, ch chan struct{}) (first bool) {
	h.change(db, shard, func(a *subscribers) {
		first = len(a.listeners) == 0
		a.listeners[ch] = struct{}{}
	})
	return first
}

// remove is the opposite. last is true where nobody of this node listens any more.
func (h *hub) remove(db ports.Database, shard layer.ShardID, ch chan struct{}) (last bool) {
	h.change(db, shard, func(a *subscribers) {
		delete(a.listeners, ch)
		last = len(a.listeners) == 0
	})
	return last
}

// wanted is the shards of a database that somebody wants to hear of.
func (h *hub) wanted(db ports.Database) map[layer.ShardID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(map[layer.ShardID]bool, len(h.mu.shards[db]))
	for shard := range h.mu.shards[db] {
		w[shard] = true
	}
	return w
}

// count is how many listeners there are; one that listens to several shards counts for each.
func (h *hub) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, shards := range h.mu.shards {
		for _, a := range shards {
			a.mu.Lock()
			n += len(a.listeners)
			a.mu.Unlock()
		}
	}
	return n
}

// databases is those that somebody wants to hear of.
func (h *hub) databases() []ports.Database {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]ports.Database, 0, len(h.mu.shards))
	for db := range h.mu.shards {
		list = append(list, db)
	}
	return list
}

// listened reports whether somebody wants to hear of a database.
func (h *hub) listened(db ports.Database) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.shards[db]) > 0
}

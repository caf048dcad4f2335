package feeds

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// hub has the subscribers on this node. It outlives the actors: a restarted shard actor finds its subscribers here.
// Database and shard actors also use it to know whether they are needed.
type hub struct {
	life   string       // of this hub: tallies of other hubs are not comparable
	serial atomic.Int64 // number for wakes
	mu     struct {
		sync.Mutex
		shards map[ports.Database]map[layer.ShardID]*subscribers // without empty ones
		// The same for the guard, which checks some of them in turn, but the doubtful ones each time.
		round    []*subscribers
		next     int // index in round
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

// add makes ch a listener of a shard. first is true if the shard had no subscribers before.
func (h *hub) add(db ports.Database, shard layer.ShardID, ch chan struct{}) (first bool) {
	h.change(db, shard, func(a *subscribers) {
		first = len(a.listeners) == 0
		a.listeners[ch] = struct{}{}
	})
	return first
}

// remove removes a listener. last is true if the shard has no listeners on this node any more.
func (h *hub) remove(db ports.Database, shard layer.ShardID, ch chan struct{}) (last bool) {
	h.change(db, shard, func(a *subscribers) {
		delete(a.listeners, ch)
		last = len(a.listeners) == 0
	})
	return last
}

// wanted returns the shards of a database that have subscribers.
func (h *hub) wanted(db ports.Database) map[layer.ShardID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(map[layer.ShardID]bool, len(h.mu.shards[db]))
	for shard := range h.mu.shards[db] {
		w[shard] = true
	}
	return w
}

// count returns the number of listeners. A listener of several shards counts once for each.
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

// databases returns the databases with subscribers.
func (h *hub) databases() []ports.Database {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]ports.Database, 0, len(h.mu.shards))
	for db := range h.mu.shards {
		list = append(list, db)
	}
	return list
}

// listened reports whether a database has subscribers.
func (h *hub) listened(db ports.Database) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.shards[db]) > 0
}

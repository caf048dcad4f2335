package actors

import (
	"sync"

	"github.com/divandb/divan/layer"
)

// hub is who listens to what on this node. It outlives the actors: a shard actor that restarts finds its listeners here. It is also what the database and
// shard actors go by to know which of them are wanted.
type hub struct {
	mu struct {
		sync.Mutex
		audiences map[Database]map[layer.ShardID]*audience // only those with listeners
	}
}

// audience is the listeners of one shard. The channels have capacity 1 and are never closed.
type audience struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

func newHub() *hub {
	h := &hub{}
	h.mu.audiences = map[Database]map[layer.ShardID]*audience{}
	return h
}

// add makes ch a listener of a shard. first is true where nobody listened before.
func (h *hub) add(db Database, shard layer.ShardID, ch chan struct{}) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	shards := h.mu.audiences[db]
	if shards == nil {
		shards = map[layer.ShardID]*audience{}
		h.mu.audiences[db] = shards
	}
	a := shards[shard]
	if a == nil {
		a = &audience{listeners: map[chan struct{}]struct{}{}}
		shards[shard] = a
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners[ch] = struct{}{}
	return len(a.listeners) == 1
}

// remove is the opposite. last is true where nobody listens any more.
func (h *hub) remove(db Database, shard layer.ShardID, ch chan struct{}) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.mu.audiences[db][shard]
	if a == nil {
		return false
	}
	a.mu.Lock()
	delete(a.listeners, ch)
	last = len(a.listeners) == 0
	a.mu.Unlock()
	if last {
		delete(h.mu.audiences[db], shard)
		if len(h.mu.audiences[db]) == 0 {
			delete(h.mu.audiences, db)
		}
	}
	return last
}

// wake wakes the listeners of a shard. One that has not looked since the last wake is not woken twice.
func (h *hub) wake(db Database, shard layer.ShardID) {
	h.mu.Lock()
	a := h.mu.audiences[db][shard]
	h.mu.Unlock()
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for ch := range a.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// wanted is the shards of a database that somebody listens to.
func (h *hub) wanted(db Database) map[layer.ShardID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := make(map[layer.ShardID]bool, len(h.mu.audiences[db]))
	for shard := range h.mu.audiences[db] {
		w[shard] = true
	}
	return w
}

// listeners is how many listen to a shard.
func (h *hub) listeners(db Database, shard layer.ShardID) int {
	h.mu.Lock()
	a := h.mu.audiences[db][shard]
	h.mu.Unlock()
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.listeners)
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

// databases is those with a listener.
func (h *hub) databases() []Database {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Database, 0, len(h.mu.audiences))
	for db := range h.mu.audiences {
		list = append(list, db)
	}
	return list
}

// Listen registers a listener for shards of a database (clause C7). After every commit of an entry in one of them that happens after Listen returned, and
// after a reshard or the deletion of the database, woken receives a value; several wakes may be one, and a wake without reason is allowed. So read the
// feed after Listen, then wait. While the store fails, woken receives values too, at growing pauses, for the reader to find out. The
// channel is never closed. Call cancel when done, once or more.
//
// There is one watch in the store per shard and node, however many listen.
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

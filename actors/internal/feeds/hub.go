package feeds

import (
	"hash/maphash"
	"maps"
	"slices"
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
	parts  [hubParts]hubPart
	seed   maphash.Seed // of the hashes of databases
}

// hubParts is the number of parts of a hub. The actors of a hundred thousand shards may look at the hub at the same
// time. If one lock were held during much work, all of them would queue for it, and whoever needs it for one shard
// after another, such as the exchange, would wait for all of them each time.
const hubParts = 64

// hubPart has the subscribers of some databases. Its lock is held only briefly.
type hubPart struct {
	sync.Mutex
	shards map[ports.Database]map[layer.ShardID]*subscribers // without empty ones
	// The same for the guard, which checks some of them in turn, but the doubtful ones each time.
	round    []*subscribers
	next     int // index in round
	doubtful map[*subscribers]struct{}
}

func newHub(life string) *hub {
	h := &hub{life: life, seed: maphash.MakeSeed()}
	for i := range h.parts {
		h.parts[i].shards = map[ports.Database]map[layer.ShardID]*subscribers{}
		h.parts[i].doubtful = map[*subscribers]struct{}{}
	}
	return h
}

// part returns the part that has the subscribers of a database.
func (h *hub) part(db ports.Database) *hubPart {
	return &h.parts[maphash.Comparable(h.seed, db)%hubParts]
}

// eachPart calls f for each part, under its lock.
func (h *hub) eachPart(f func(p *hubPart)) {
	for i := range h.parts {
		p := &h.parts[i]
		p.Lock()
		f(p)
		p.Unlock()
	}
}

func (h *hub) tally(wakes int64) string { return h.life + "-" + strconv.FormatInt(wakes, 10) }

// add makes ch a listener of a shard. first is true if the shard had no subscribers before.
func (h *hub) add(db ports.Database, shard layer.ShardID, ch chan struct{}, l listener) (first bool) {
	h.change(db, shard, func(a *subscribers) {
		first = len(a.listeners) == 0
		a.listeners[ch] = l
		if l.upkeep {
			a.upkeep++
		}
	})
	return first
}

// remove removes a listener. last is true if the shard has no listeners on this node any more.
func (h *hub) remove(db ports.Database, shard layer.ShardID, ch chan struct{}) (last bool) {
	h.change(db, shard, func(a *subscribers) {
		if a.listeners[ch].upkeep {
			a.upkeep--
		}
		delete(a.listeners, ch)
		last = len(a.listeners) == 0
	})
	return last
}

// wanted returns the shards of a database that have subscribers.
func (h *hub) wanted(db ports.Database) map[layer.ShardID]bool {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	w := make(map[layer.ShardID]bool, len(p.shards[db]))
	for shard := range p.shards[db] {
		w[shard] = true
	}
	return w
}

// databases returns the databases with subscribers.
func (h *hub) databases() (list []ports.Database) {
	h.eachPart(func(p *hubPart) { list = slices.AppendSeq(list, maps.Keys(p.shards)) })
	return list
}

// listened reports whether a database has subscribers.
func (h *hub) listened(db ports.Database) bool {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	return len(p.shards[db]) > 0
}

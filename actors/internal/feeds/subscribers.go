package feeds

import (
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// subscribers are the subscribers of one shard: listeners on this node, and other nodes. The value is removed when none
// is left.
type subscribers struct {
	key       shardKey
	place     int // index in hubPart.round
	mu        sync.Mutex
	listeners map[chan struct{}]listener // by their channels, of capacity 1 and never closed
	upkeep    int                        // how many of the listeners are upkeep
	followers map[string]*follower       // by member
	// watched means that the shard's actor watches the store: every later commit wakes all subscribers. While the actor
	// arms its next watch this also holds, but only for armingLimit after unsureSince.
	watched     bool
	unsureSince time.Time
	busy        busy // of the actor that watches
	// unheard is since when nothing has been sure to wake the listeners, or when they were last woken for that reason.
	// It is zero if all is well.
	unheard time.Time
	wakes   int64 // the number of the last wake; unique on this node
	woken   int64 // number of wakes
	// changed is when watched or wakes last changed.
	changed time.Time
}

// listener says who listens.
type listener struct{ upkeep bool } // this node itself, see ForUpkeep

// follower is another node that follows a shard.
type follower struct {
	key  int64 // the number that it uses for the shard
	turn int64 // of its newest message
	told bool  // it was told that the shard is watched
}

// armingLimit is how long a shard's actor may take to arm its next watch before other nodes watch by themselves: they
// may reach the store when this node does not.
const armingLimit = 300 * time.Millisecond

func (a *subscribers) empty() bool { return len(a.listeners) == 0 && len(a.followers) == 0 }

// reliable reports whether the shard's actor on this node will wake all subscribers after the next commit. It will not
// if it has been busy for longer than armingLimit.
func (a *subscribers) reliable(now time.Time) bool {
	return a.watched && (a.unsureSince.IsZero() || now.Sub(a.unsureSince) < armingLimit) && a.busy.of(now) < armingLimit
}

// subscribers returns the subscribers of a shard, or nil if there are none.
func (h *hub) subscribers(db ports.Database, shard layer.ShardID) *subscribers {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	return p.shards[db][shard]
}

// change changes the subscribers of a shard under their lock. It creates them first if there are none, and removes them
// if none is left. first is true if there were none before, last if there are none now.
func (h *hub) change(db ports.Database, shard layer.ShardID, f func(a *subscribers)) (first, last bool) {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	shards := p.shards[db]
	a := shards[shard]
	if first = a == nil; first {
		a = &subscribers{key: shardKey{db, shard}, listeners: map[chan struct{}]listener{},
			followers: map[string]*follower{}, wakes: h.serial.Add(1)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
	switch last = a.empty(); {
	case !last && first:
		if shards == nil {
			shards = map[layer.ShardID]*subscribers{}
			p.shards[db] = shards
		}
		shards[shard] = a
		a.place = len(p.round)
		p.round = append(p.round, a)
	case last && !first:
		p.leaveRound(a)
		delete(shards, shard)
		if len(shards) == 0 {
			delete(p.shards, db)
		}
	}
	if !last {
		p.doubtful[a] = struct{}{} // until the guard has checked it
	}
	return first && !last, last && !first
}

// leaveRound has the guard look after the subscribers of a shard no more. The caller holds the lock.
func (p *hubPart) leaveRound(a *subscribers) {
	end := len(p.round) - 1
	moved := p.round[end]
	p.round[a.place], moved.place = moved, a.place
	p.round[end] = nil
	p.round = p.round[:end]
	delete(p.doubtful, a)
}

// report notes whether the actor of a shard watches the store, and says which other nodes are to be told, with what, by
// member and turn.
func (h *hub) report(db ports.Database, shard layer.ShardID, v watchState, b busy, now time.Time) map[string]message {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	a := p.shards[db][shard]
	if a == nil {
		return nil
	}
	if v != stateWatched {
		p.doubtful[a] = struct{}{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if v == stateArming {
		if a.unsureSince.IsZero() {
			a.unsureSince = now
		}
		return nil
	}
	a.watched, a.unsureSince, a.busy, a.changed = v == stateWatched, time.Time{}, b, now
	var tell map[string]message
	for member, f := range a.followers {
		if f.told == a.watched {
			continue
		}
		f.told = a.watched
		if tell == nil {
			tell = map[string]message{}
		}
		tell[member] = message{
			Answer:    f.turn,
			Positions: []position{{Key: f.key, Watched: a.watched, Tally: h.tally(a.wakes)}},
		}
	}
	return tell
}

// end notes that no actor of a shard watches any more, and returns what to tell the nodes that rely on them.
func (h *hub) end(now time.Time) (out []outgoing) {
	type turn struct {
		member string
		number int64
	}
	positions := map[turn][]position{}
	h.eachPart(func(p *hubPart) {
		for _, a := range p.round {
			a.mu.Lock()
			a.watched, a.unsureSince, a.busy, a.changed = false, time.Time{}, nil, now
			for member, f := range a.followers {
				if f.told {
					f.told = false
					of := turn{member, f.turn}
					positions[of] = append(positions[of], position{Key: f.key, Tally: h.tally(a.wakes)})
				}
			}
			a.mu.Unlock()
		}
	})
	for of, list := range positions {
		for part := range slices.Chunk(list, maxAsks) {
			out = append(out, outgoing{of.member, message{Answer: of.number, Positions: part}})
		}
	}
	return out
}

// busy is for how long an actor has been at work on one message; nil: there is none.
type busy func(now time.Time) time.Duration

func (b busy) of(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	return b(now)
}

// watchState is what an actor reports about its watch.
type watchState int

const (
	stateNone   watchState = iota // there is no watch to rely on
	stateArming                   // the watch fired, and the next one is being armed
	stateWatched
)

// follow records that a member follows a shard, and returns this node's state for it. reached means that the store has
// just answered this node: if the store cannot be reached, a watch is of no use.
func (h *hub) follow(db ports.Database, shard layer.ShardID, member string, f follower, reached bool,
	now time.Time) (st position, first bool) {
	st.Key = f.key
	state := func(a *subscribers) {
		f.told = reached && a.reliable(now)
		st.Watched, st.Tally, st.changed = f.told, h.tally(a.wakes), a.changed
	}
	if h.again(db, shard, member, func(a *subscribers, old *follower) {
		state(a)
		*old = f
	}) {
		return st, false
	}
	h.change(db, shard, func(a *subscribers) {
		first = a.followers[member] == nil
		state(a)
		a.followers[member] = &f
	})
	return st, first
}

// again handles a member's repeated message, in every beat, that it follows a shard: nothing changes for the listeners
// on this node, and the guard need not check. It returns false if the member does not follow the shard yet.
func (h *hub) again(db ports.Database, shard layer.ShardID, member string, f func(a *subscribers, old *follower)) bool {
	p := h.part(db)
	p.Lock()
	defer p.Unlock()
	a := p.shards[db][shard]
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.followers[member]
	if old == nil {
		return false
	}
	f(a, old)
	return true
}

// unfollow removes a follower. last is true if no other node follows the shard any more.
func (h *hub) unfollow(db ports.Database, shard layer.ShardID, member string) (last bool) {
	if h.subscribers(db, shard) == nil {
		return false
	}
	h.change(db, shard, func(a *subscribers) {
		delete(a.followers, member)
		last = len(a.followers) == 0
	})
	return last
}

// followers returns how many other nodes follow a shard.
func (h *hub) followers(db ports.Database, shard layer.ShardID) int {
	return h.counts(db, shard).followers
}

// counts returns how many subscribers a shard has.
func (h *hub) counts(db ports.Database, shard layer.ShardID) (c counts) {
	a := h.subscribers(db, shard)
	if a == nil {
		return c
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return counts{len(a.followers), len(a.listeners), a.upkeep, a.woken}
}

// counts is how many other nodes follow a shard, how many listeners it has on this node, how many of these are upkeep,
// and how often they were woken since the first of them came.
type counts struct {
	followers, listeners, upkeep int
	woken                        int64
}

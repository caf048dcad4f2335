package feeds

import (
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// subscribers are who wants to hear of one shard: the listeners of this node, and other nodes. They go when nobody
// is left.
type subscribers struct {
	key       shardKey
	place     int // in hub.mu.round
	mu        sync.Mutex
	listeners map[chan struct{}]struct{} // capacity 1, never closed
	followers map[string]*follower       // by member
	// watched says that the shard's actor watches the store: what is committed from now on wakes everybody. While it
	// arms its next watch that holds too, but not for longer than armingLimit after unsureSince.
	watched     bool
	unsureSince time.Time
	busy        busy // of the actor that watches
	// unheard is since when nothing was sure to wake the listeners, or when they were last woken for that; zero where
	// all is well.
	unheard time.Time
	wakes   int64 // another number after every wake, on this node
	woken   int64 // how often
}

// follower is another node that follows a shard.
type follower struct {
	key  int64 // the number that it gave the shard
	turn int64 // of its newest message
	told bool  // that the shard is watched
}

// armingLimit is how long the actor of a shard may need to arm its next watch before other nodes watch by themselves:
// the store may be out of this node's reach and within theirs.
const armingLimit = 300 * time.Millisecond

func (a *subscribers) empty() bool { return len(a.listeners) == 0 && len(a.followers) == 0 }

// reliable reports whether the shard's actor on this node will wake everybody after the next commit. One that is busy
// for longer than armingLimit will not.
func (a *subscribers) reliable(now time.Time) bool {
	return a.watched && (a.unsureSince.IsZero() || now.Sub(a.unsureSince) < armingLimit) && a.busy.of(now) < armingLimit
}

// wakeListeners wakes those of this node. One that has not looked since the last wake is not woken twice. The caller
// holds mu.
func (a *subscribers) wakeListeners() {
	for ch := range a.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// subscribers finds the subscribers of a shard; nil where nobody wants to hear of it.
func (h *hub) subscribers(db ports.Database, shard layer.ShardID) *subscribers {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.shards[db][shard]
}

// change changes the subscribers of a shard under their lock, made where there are none, and drops them where nobody is
// left.
// first is true where there was none, last where there is none now.
func (h *hub) change(db ports.Database, shard layer.ShardID, f func(a *subscribers)) (first, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	shards := h.mu.shards[db]
	a := shards[shard]
	if first = a == nil; first {
		a = &subscribers{key: shardKey{db, shard}, listeners: map[chan struct{}]struct{}{},
			followers: map[string]*follower{}, wakes: h.serial.Add(1)}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
	switch last = a.empty(); {
	case !last && first:
		if shards == nil {
			shards = map[layer.ShardID]*subscribers{}
			h.mu.shards[db] = shards
		}
		shards[shard] = a
		a.place = len(h.mu.round)
		h.mu.round = append(h.mu.round, a)
	case last && !first:
		h.leaveRound(a)
		delete(shards, shard)
		if len(shards) == 0 {
			delete(h.mu.shards, db)
		}
	}
	if !last {
		h.mu.doubtful[a] = struct{}{} // until the guard has looked at it
	}
	return first && !last, last && !first
}

// leaveRound has the guard look after the subscribers of a shard no more. The caller holds mu.
func (h *hub) leaveRound(a *subscribers) {
	end := len(h.mu.round) - 1
	moved := h.mu.round[end]
	h.mu.round[a.place], moved.place = moved, a.place
	h.mu.round[end] = nil
	h.mu.round = h.mu.round[:end]
	delete(h.mu.doubtful, a)
}

// wake wakes the listeners of a shard on this node and says which other nodes are to be told, with what.
func (h *hub) wake(db ports.Database, shard layer.ShardID) map[string]position {
	a := h.subscribers(db, shard)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wakes = h.serial.Add(1)
	a.woken++
	a.wakeListeners()
	if len(a.followers) == 0 {
		return nil
	}
	tell := make(map[string]position, len(a.followers))
	for member, f := range a.followers {
		tell[member] = position{Key: f.key, Tally: h.tally(a.wakes)}
	}
	return tell
}

// report notes whether the actor of a shard watches the store, and says which other nodes are to be told, with what, by
// member and turn.
func (h *hub) report(db ports.Database, shard layer.ShardID, v watchState, b busy, now time.Time) map[string]message {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.mu.shards[db][shard]
	if a == nil {
		return nil
	}
	if v != stateWatched {
		h.mu.doubtful[a] = struct{}{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if v == stateArming {
		if a.unsureSince.IsZero() {
			a.unsureSince = now
		}
		return nil
	}
	a.watched, a.unsureSince, a.busy = v == stateWatched, time.Time{}, b
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

// busy is for how long an actor has been at work on one message; nil: there is none.
type busy func(now time.Time) time.Duration

func (b busy) of(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	return b(now)
}

// watchState is what an actor says about its watch.
type watchState int

const (
	stateNone   watchState = iota // there is none that can be relied on
	stateArming                   // it fired, and the next one is being armed
	stateWatched
)

// follow notes that a member follows a shard, and answers how this node stands to it now. reached says that the store
// has answered this node just now: a watch in a store that is out of reach is worth nothing.
func (h *hub) follow(db ports.Database, shard layer.ShardID, member string, f follower, reached bool,
	now time.Time) (st position, first bool) {
	st.Key = f.key
	stands := func(a *subscribers) {
		f.told = reached && a.reliable(now)
		st.Watched, st.Tally = f.told, h.tally(a.wakes)
	}
	if h.again(db, shard, member, func(a *subscribers, old *follower) {
		stands(a)
		*old = f
	}) {
		return st, false
	}
	h.change(db, shard, func(a *subscribers) {
		first = a.followers[member] == nil
		stands(a)
		a.followers[member] = &f
	})
	return st, first
}

// again is for a member that follows a shard already, and says so every beat: nothing changes for the listeners of this
// node, and the guard need not look. It is false where the member does not.
func (h *hub) again(db ports.Database, shard layer.ShardID, member string, f func(a *subscribers, old *follower)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.mu.shards[db][shard]
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

// unfollow ends that; last is true where no other node follows the shard any more.
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

// followers is how many other nodes follow a shard.
func (h *hub) followers(db ports.Database, shard layer.ShardID) int {
	n, _, _ := h.figures(db, shard)
	return n
}

// figures are how many other nodes follow a shard, how many of this node listen to it, and how often they were woken
// since somebody does.
func (h *hub) figures(db ports.Database, shard layer.ShardID) (followers, listeners int, woken int64) {
	a := h.subscribers(db, shard)
	if a == nil {
		return 0, 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.followers), len(a.listeners), a.woken
}

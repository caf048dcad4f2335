package feeds

import (
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// wake wakes the listeners of a shard: those on this node, and with one message each the nodes that follow it here.
func (f *Feeds) wake(db ports.Database, shard layer.ShardID) {
	for member, st := range f.hub.wake(db, shard, f.tree.Now()) {
		f.Peers.Send(member, (&message{Wake: []position{st}}).encode())
	}
	f.wakes.Add(1)
}

// wake wakes the listeners of a shard on this node and says which other nodes are to be told, with what.
func (h *hub) wake(db ports.Database, shard layer.ShardID, now time.Time) map[string]position {
	a := h.subscribers(db, shard)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wakes, a.changed = h.serial.Add(1), now
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

// wakeListeners wakes the listeners on this node. One that has not read since the last wake is not woken twice. The
// caller holds mu.
func (a *subscribers) wakeListeners() {
	for ch := range a.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

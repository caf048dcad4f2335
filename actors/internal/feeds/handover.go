package feeds

import (
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
)

// The actor of a shard that exceeds its budget of restarts hands the shard over: its node refuses to be followed, and
// it and the nodes that followed it turn to the next member in the shard's placement. The others learn of it in the
// answer to their next beat. If all members refuse, each watches for itself.

// refusedFor is how long a member is left out after it has refused a shard. As long as its actor fails, it refuses
// again.
const refusedFor = runtime.FailureWindow

// handOver lets another member watch a shard whose actor fails too often here.
func (f *Feeds) handOver(k shardKey) {
	if f.Peers == nil {
		return
	}
	if f.exchange.refuses(f.tree.Now(), k, f.Node) {
		f.tree.Log.Warn("another node watches a shard whose actor fails too often here", "database", k.db.Name(),
			"shard", k.shard, "node", f.Owner(k.db, k.shard))
	}
	f.Changed(k.db)
}

// orRefused returns a position, or one that refuses to be followed if the shard has been handed over.
func (f *Feeds) orRefused(st position, k shardKey) position {
	if slices.Contains(f.exchange.refusing(f.tree.Now(), k), f.Node) {
		return position{Key: st.Key, Refused: true, changed: st.changed}
	}
	return st
}

// refuses records that a member refuses a shard from now on. It reports whether that is new.
func (x *exchange) refuses(now time.Time, k shardKey, member string) (first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refuse(now, k, member)
}

// refuse is refuses. The caller holds mu.
func (x *exchange) refuse(now time.Time, k shardKey, member string) (first bool) {
	m := x.mu.refused[k]
	if m == nil {
		m = map[string]time.Time{}
		x.mu.refused[k] = m
		x.refusal.Add(1)
	}
	first = !now.Before(m[member])
	m[member] = now.Add(refusedFor)
	return first
}

// refusing lists the members that refuse a shard now.
func (x *exchange) refusing(now time.Time, k shardKey) (members []string) {
	if x.refusal.Load() == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for member, until := range x.mu.refused[k] {
		if now.Before(until) {
			members = append(members, member)
		}
	}
	return members
}

// takenBack returns the shards that a member may watch again, and forgets that it has refused them.
func (x *exchange) takenBack(now time.Time) (list []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, members := range x.mu.refused {
		before := len(members)
		maps.DeleteFunc(members, func(_ string, until time.Time) bool { return !now.Before(until) })
		if len(members) < before {
			list = append(list, k)
		}
		if len(members) == 0 {
			delete(x.mu.refused, k)
			x.refusal.Add(-1)
		}
	}
	return list
}

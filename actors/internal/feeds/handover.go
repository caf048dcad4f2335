package feeds

import (
	"maps"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
)

// The actor of a shard that exceeds its budget of restarts hands the shard over: its node refuses to be followed, and
// it and the nodes that followed it turn to the next member in the shard's placement. The others learn of it in the
// answer to their next beat. If all members refuse, each watches for itself.

// refusedFor is how long a member refuses a shard after its actor has failed. It tells the others how much of that is
// left: if each counted from when it asks, it could be left out for twice as long.
const refusedFor = runtime.FailureWindow

// handOver lets another member watch a shard whose actor fails too often here.
func (f *Feeds) handOver(k shardKey) {
	if f.Peers == nil {
		return
	}
	if f.exchange.refuses(f.tree.Now(), k, f.Node, refusedFor) {
		f.tree.Log.Warn("another node watches a shard whose actor fails too often here", "database", k.db.Name(),
			"shard", k.shard, "node", f.Owner(k.db, k.shard))
	}
	f.Changed(k.db)
}

// orRefused returns a position, or one that refuses to be followed if the shard has been handed over.
func (f *Feeds) orRefused(st position, k shardKey) position {
	if left := f.exchange.refusing(f.tree.Now(), k)[f.Node]; left > 0 {
		return position{Key: st.Key, Refused: true, RefusedFor: left.Milliseconds() + 1, changed: st.changed}
	}
	return st
}

// refuses records that a member refuses a shard for some time from now on. It reports whether that is new.
func (x *exchange) refuses(now time.Time, k shardKey, member string, d time.Duration) (first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refuse(now, k, member, d)
}

// refuse is refuses. The caller holds mu.
func (x *exchange) refuse(now time.Time, k shardKey, member string, d time.Duration) (first bool) {
	m := x.mu.refused[k]
	if m == nil {
		m = map[string]time.Time{}
		x.mu.refused[k] = m
		x.refusals.Add(1)
	}
	first = !now.Before(m[member])
	m[member] = now.Add(d)
	return first
}

// refusing returns the members that refuse a shard now, with how much longer they do.
func (x *exchange) refusing(now time.Time, k shardKey) map[string]time.Duration {
	if x.refusals.Load() == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	members := map[string]time.Duration{}
	for member, until := range x.mu.refused[k] {
		if left := until.Sub(now); left > 0 {
			members[member] = left
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
			x.refusals.Add(-1)
		}
	}
	return list
}

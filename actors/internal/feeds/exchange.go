package feeds

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// exchange is what this node has agreed with others about changes shards: which it follows, and who follows it. A shard
// is watched in the store by the node that its actor is placed on; the others follow that one and are woken by a
// message each (clauses C7, N1). Like the hub it outlives the actors.
//
// Nothing is lost for long, whatever happens to messages and nodes: the follower says every beat what it follows, and
// the answer has a tally that differs where a wake was lost. Without an answer to a question younger than doubtBeats
// the follower watches the store by itself, until there is one. The one that is followed forgets followers that it has
// not heard of for lapseBeats. It answers that it watches only if its actor is at work and the store has answered it
// after the question came (Feeds.reaches).
type exchange struct {
	every time.Duration // a beat
	mu    struct {
		sync.Mutex
		out    map[shardKey]*following
		byKey  map[int64]*following
		in     map[string]map[shardKey]memberKey // by member
		inKeys map[string]map[int64]shardKey     // the same by member and the number that it gave the shard
		turn   int64
		asked  []question // oldest first, only those that are not too old
		serial int64      // the last key given
	}
}

const (
	// doubtBeats is how old the newest question that was answered may be.
	doubtBeats = 3
	// lapseBeats is how long a follower is remembered after its last word.
	lapseBeats = 10
	// maxAsks bounds the shards in one message.
	maxAsks = 500
)

// shardKey names a shard on this node.
type shardKey struct {
	db    ports.Database
	shard layer.ShardID
}

// following is a shard of which this node hears from another one.
type following struct {
	shardKey
	key     int64
	owner   string
	covered bool      // the owner watches it, as of sign
	sign    time.Time // when the newest question was asked that it answered so
	tally   string
}

// memberKey is a member that follows a shard here.
type memberKey struct {
	key   int64 // the number that it gave the shard
	until time.Time
}

// question is when a turn was sent.
type question struct {
	turn int64
	at   time.Time
}

func newExchange(every time.Duration, now time.Time) *exchange {
	x := &exchange{every: every}
	x.mu.out, x.mu.byKey = map[shardKey]*following{}, map[int64]*following{}
	x.mu.in, x.mu.inKeys = map[string]map[shardKey]memberKey{}, map[string]map[int64]shardKey{}
	x.mu.serial = now.UnixMicro() // an earlier life's keys, in messages still under way, mean nothing
	return x
}

// outgoing is a message and whom it is for.
type outgoing struct {
	to string
	message
}

// covered reports whether owner can be relied on for a shard now. It goes by the time, so that it also holds where
// nobody paces the exchange.
func (x *exchange) covered(now time.Time, k shardKey, owner string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.mu.out[k]
	return f != nil && f.owner == owner && f.covered && !x.lapsed(now, f)
}

// heard reports whether another node wakes the listeners of a shard now.
func (x *exchange) heard(now time.Time, k shardKey) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.mu.out[k]
	return f != nil && f.covered && !x.lapsed(now, f)
}

// lapsed reports whether the owner has been silent for too long. The caller holds mu.
func (x *exchange) lapsed(now time.Time, f *following) bool {
	return now.Sub(f.sign) > doubtBeats*x.every
}

// lapse ends what has lapsed: shards that this node has to watch by itself now.
func (x *exchange) lapse(now time.Time) (list []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, f := range x.mu.out {
		if f.covered && x.lapsed(now, f) {
			f.covered = false
			list = append(list, k)
		}
	}
	return list
}

// follow begins to follow owner for a shard. It does nothing where that has begun.
func (x *exchange) follow(now time.Time, k shardKey, owner string) []outgoing {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.drop(k, owner)
	if x.mu.out[k] != nil {
		return nil
	}
	x.mu.serial++
	f := &following{shardKey: k, key: x.mu.serial, owner: owner}
	x.mu.out[k], x.mu.byKey[f.key] = f, f
	return append(out, outgoing{owner, message{Turn: x.nextTurn(now), Follow: []ask{f.ask()}}})
}

// unfollow ends it.
func (x *exchange) unfollow(k shardKey) []outgoing {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drop(k, "")
}

// drop ends following anybody but keep. The caller holds mu.
func (x *exchange) drop(k shardKey, keep string) []outgoing {
	f := x.mu.out[k]
	if f == nil || f.owner == keep {
		return nil
	}
	delete(x.mu.out, k)
	delete(x.mu.byKey, f.key)
	return []outgoing{{f.owner, message{Unfollow: []int64{f.key}}}}
}

func (f *following) ask() ask {
	return ask{Key: f.key, Database: f.db.Name(), Number: f.db.Number(), Shard: f.shard}
}

func (x *exchange) nextTurn(now time.Time) int64 {
	x.mu.turn++
	x.mu.asked = append(x.mu.asked, question{x.mu.turn, now})
	return x.mu.turn
}

// beat says again what this node follows, and notices who has been silent: gone are shards that a member no longer
// follows here.
func (x *exchange) beat(now time.Time) (out []outgoing, gone []followerOf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.asked = slices.DeleteFunc(x.mu.asked, func(q question) bool { return now.Sub(q.at) > doubtBeats*x.every })
	asks := map[string][]ask{}
	for _, f := range x.mu.out {
		asks[f.owner] = append(asks[f.owner], f.ask())
	}
	for _, owner := range slices.Sorted(maps.Keys(asks)) {
		for part := range slices.Chunk(asks[owner], maxAsks) {
			out = append(out, outgoing{owner, message{Turn: x.nextTurn(now), Follow: part}})
		}
	}
	for member, shards := range x.mu.in {
		for k, g := range shards {
			if now.After(g.until) {
				gone = append(gone, followerOf{member, k})
				x.lose(member, k)
			}
		}
	}
	return out, gone
}

// followerOf is a member that follows a shard here.
type followerOf struct {
	member string
	shardKey
}

// idle reports whether there is nothing to say.
func (x *exchange) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.mu.out) == 0 && len(x.mu.in) == 0
}

// remember notes that a member follows a shard.
func (x *exchange) remember(member string, k shardKey, g memberKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.in[member] == nil {
		x.mu.in[member], x.mu.inKeys[member] = map[shardKey]memberKey{}, map[int64]shardKey{}
	}
	old, known := x.mu.in[member][k]
	x.mu.in[member][k] = g
	if known && old.key == g.key {
		return
	}
	if known {
		delete(x.mu.inKeys[member], old.key)
	}
	x.mu.inKeys[member][g.key] = k
}

// lose ends that a member follows a shard. The caller holds mu.
func (x *exchange) lose(member string, k shardKey) {
	delete(x.mu.inKeys[member], x.mu.in[member][k].key)
	delete(x.mu.in[member], k)
	if len(x.mu.in[member]) == 0 {
		delete(x.mu.in, member)
		delete(x.mu.inKeys, member)
	}
}

// forget ends that for the keys of a member, and says which shards they were.
func (x *exchange) forget(member string, keys []int64) (list []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, key := range keys {
		if k, ok := x.mu.inKeys[member][key]; ok {
			list = append(list, k)
			x.lose(member, k)
		}
	}
	return list
}

// facts are the figures of this moment.
func (x *exchange) facts() ExchangeFacts {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := ExchangeFacts{Following: len(x.mu.out), Members: len(x.mu.in)}
	for _, shards := range x.mu.in {
		f.Followed += len(shards)
	}
	return f
}

// answered takes how a member stands to shards that this node follows, as an answer to a turn: wake are those of which
// a wake was lost, changed those that the member can now be relied on for, or not any more.
func (x *exchange) answered(now time.Time, from string, l *message) (wake, changed []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var at time.Time
	if i, ok := slices.BinarySearchFunc(x.mu.asked, l.Answer, func(q question, turn int64) int {
		return cmp.Compare(q.turn, turn)
	}); ok {
		at = x.mu.asked[i].at
	}
	fresh := !at.IsZero() && now.Sub(at) <= doubtBeats*x.every
	for _, st := range l.Positions {
		f := x.mu.byKey[st.Key]
		switch {
		case f == nil || f.owner != from:
		case !st.Watched && f.covered && !at.Before(f.sign):
			f.covered = false
			changed = append(changed, f.shardKey)
		case st.Watched && fresh:
			if f.covered && f.tally != st.Tally {
				wake = append(wake, f.shardKey)
			}
			f.tally = st.Tally
			if f.sign.Before(at) {
				f.sign = at
			}
			if !f.covered {
				f.covered = true
				changed = append(changed, f.shardKey)
			}
		}
	}
	return wake, changed
}

// woken takes wakes of a member and says of which shards.
func (x *exchange) woken(from string, wakes []position) (list []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range wakes {
		if f := x.mu.byKey[w.Key]; f != nil && f.owner == from {
			f.tally = w.Tally
			list = append(list, f.shardKey)
		}
	}
	return list
}

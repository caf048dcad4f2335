package feeds

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// exchange has what this node has agreed with others about changes shards: which shards it follows, and who follows its
// own. The node that a shard's actor is placed on watches the shard in the store. The others follow that node and are
// woken by one message each (clauses C7, N1). Like the hub, the exchange outlives the actors.
//
// Lost messages and failed nodes only delay wake-ups: in every beat the follower repeats what it follows, or a digest
// of it (digest.go), and the answer has a tally that differs if a wake was lost. If no question younger than doubtBeats
// was answered, the follower watches the store itself until there is an answer. The followed node forgets followers
// that have been silent for lapseBeats. It answers that it watches only if its actor is running and the store has
// answered it after the question came (Feeds.reaches).
type exchange struct {
	every   time.Duration // interval between beats
	dropped atomic.Int64  // messages of members that came too fast
	mu      struct {
		sync.Mutex
		out   map[shardKey]*following
		byKey map[int64]*following
		in    map[string]map[shardKey]memberKey // followed here, by member
		// the same by member and the number that the member uses for the shard
		inKeys map[string]map[int64]shardKey
		turn   int64
		asked  []question // oldest first, without those that are too old
		// owners that understand digests, and those that must be told in full what this node follows
		digests, whole map[string]bool
		serial         int64 // the last number used for a shard
		refused        map[shardKey]map[string]time.Time
	}
}

const (
	// doubtBeats is the maximum age, in beats, of the newest answered question.
	doubtBeats = 3
	// lapseBeats is how long, in beats, a follower is remembered after its last message.
	lapseBeats = 10
	// maxAsks is the maximum number of shards in one message.
	maxAsks = 500
)

// shardKey identifies a shard on this node.
type shardKey struct {
	db    ports.Database
	shard layer.ShardID
}

// following is a shard for which this node follows another one.
type following struct {
	shardKey
	key     int64
	owner   string
	covered bool      // the owner watches it, according to the newest answer
	sign    time.Time // when the question of that answer was asked
	tally   string
}

// memberKey is a member that follows a shard here.
type memberKey struct {
	key   int64 // the number that the member uses for the shard
	until time.Time
}

// question is the time at which a turn was sent.
type question struct {
	turn int64
	at   time.Time
}

func newExchange(every time.Duration, now time.Time) *exchange {
	x := &exchange{every: every}
	x.mu.out, x.mu.byKey = map[shardKey]*following{}, map[int64]*following{}
	x.mu.in, x.mu.inKeys = map[string]map[shardKey]memberKey{}, map[string]map[int64]shardKey{}
	x.mu.digests, x.mu.whole = map[string]bool{}, map[string]bool{}
	x.mu.refused = map[shardKey]map[string]time.Time{}
	x.mu.serial = now.UnixMicro() // start behind the keys of an earlier life, which may be in late messages
	return x
}

// outgoing is a message and its recipient.
type outgoing struct {
	to string
	message
}

// covered reports whether owner can be relied on for a shard now. It depends only on the time, so it works even if the
// exchange has no beats.
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

// lapse ends coverage by silent owners. It returns the shards that this node must watch itself now.
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

// follow begins to follow owner for a shard, unless it already does.
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

// unfollow stops following for a shard.
func (x *exchange) unfollow(k shardKey) []outgoing {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drop(k, "")
}

// drop stops following all members except keep for a shard. The caller holds mu.
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

// beat repeats what this node follows, and forgets silent followers. gone are shards that a member no longer follows
// here.
func (x *exchange) beat(now time.Time) (out []outgoing, gone []followerOf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.asked = slices.DeleteFunc(x.mu.asked, func(q question) bool { return now.Sub(q.at) > doubtBeats*x.every })
	owners := map[string][]*following{}
	for _, f := range x.mu.out {
		owners[f.owner] = append(owners[f.owner], f)
	}
	maps.DeleteFunc(x.mu.digests, func(owner string, _ bool) bool { return owners[owner] == nil })
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		out = append(out, x.tell(now, owner, owners[owner])...)
	}
	clear(x.mu.whole)
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

// tell repeats what this node follows at an owner. The caller holds mu.
func (x *exchange) tell(now time.Time, owner string, shards []*following) (out []outgoing) {
	if !x.inFull(owner, shards) {
		d := digest{}
		for _, f := range shards {
			d.add(f.key, "")
		}
		return []outgoing{{owner, message{Turn: x.nextTurn(now), Same: &d}}}
	}
	for part := range slices.Chunk(shards, maxAsks) {
		asks := make([]ask, len(part))
		for i, f := range part {
			asks[i] = f.ask()
		}
		out = append(out, outgoing{owner, message{Turn: x.nextTurn(now), Follow: asks}})
	}
	return out
}

// followerOf is a member and a shard that it follows here.
type followerOf struct {
	member string
	shardKey
}

// idle reports whether there is nothing to send.
func (x *exchange) idle() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.mu.out) == 0 && len(x.mu.in) == 0
}

// remember records that a member follows a shard.
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

// lose removes a follower of a shard. The caller holds mu.
func (x *exchange) lose(member string, k shardKey) {
	delete(x.mu.inKeys[member], x.mu.in[member][k].key)
	delete(x.mu.in[member], k)
	if len(x.mu.in[member]) == 0 {
		delete(x.mu.in, member)
		delete(x.mu.inKeys, member)
	}
}

// forget removes a member as follower for its keys, and returns the shards.
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

// facts returns the current facts.
func (x *exchange) facts() ExchangeFacts {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := ExchangeFacts{Following: len(x.mu.out), Members: len(x.mu.in), Dropped: x.dropped.Load()}
	for _, shards := range x.mu.in {
		f.Followed += len(shards)
	}
	return f
}

// answered processes a member's answer about shards that this node follows. wake are shards for which a wake was or may
// have been lost.
// changed are those for which the member can be relied on from now on, or no longer.
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
	if l.Answer != 0 && l.Digests {
		x.mu.digests[from] = true
	}
	if l.Whole {
		x.mu.whole[from] = true
	}
	if l.Rest != nil && fresh {
		rest, ok := x.agrees(from, l)
		x.mu.whole[from] = !ok
		for _, f := range rest {
			if ok && f.sign.Before(at) {
				f.sign = at
			}
		}
	}
	for _, st := range l.Positions {
		f := x.mu.byKey[st.Key]
		switch {
		case f == nil || f.owner != from:
		case st.Refused:
			x.refuse(now, f.shardKey, from)
			f.covered = false
			changed = append(changed, f.shardKey)
		case !st.Watched && f.covered && !at.Before(f.sign):
			f.covered = false
			changed = append(changed, f.shardKey)
		case st.Watched && fresh:
			// What was committed while the shard was not covered woke nobody. The shard's actor also wakes its
			// listeners when it learns of the cover, but it may be between two lives.
			if !f.covered || f.tally != st.Tally {
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

// woken processes wakes from a member and returns the shards.
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

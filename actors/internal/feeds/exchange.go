package feeds

import (
	"cmp"
	"maps"
	"math"
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
	began   time.Time
	dropped atomic.Int64 // messages of members that came too fast
	// out is changed only under mu, and read without it: the actors of very many
	// shards ask whom to follow at the same time as mu is held for a walk over all of them.
	out      followings
	refusals atomic.Int64 // number of shards in mu.refused
	mu       struct {
		sync.Mutex
		byKey map[int64]*following              // those in out
		in    map[string]map[shardKey]memberKey // followed here, by member
		// the same by member and the number that the member uses for the shard
		inKeys map[string]map[int64]shardKey
		turn   int64
		asked  []question // oldest first, without those that are too old
		// owners that understand digests, and those that must be told in full what this node follows
		digests, whole map[string]bool
		serial         int64 // the last number used for a shard
		// news are what owners were not told yet of what this node follows or follows no longer, by owner
		news    ownersNews
		refused map[shardKey]map[string]time.Time
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
	// sure is sign while covered, since exchange.began, and unsure otherwise. It is read without the lock.
	sure atomic.Int64
}

// unsure is following.sure of a shard that is not covered.
const unsure = math.MinInt64

// news are shards that a node has begun to follow, and the numbers of those that it follows no longer.
type news struct {
	follow   []*following
	unfollow []int64
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
	x := &exchange{every: every, began: now}
	x.mu.byKey = map[int64]*following{}
	x.mu.in, x.mu.inKeys = map[string]map[shardKey]memberKey{}, map[string]map[int64]shardKey{}
	x.mu.digests, x.mu.whole = map[string]bool{}, map[string]bool{}
	x.mu.refused = map[shardKey]map[string]time.Time{}
	x.mu.news = ownersNews{}
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
	f := x.out.of(k)
	return f != nil && f.owner == owner && f.surely(x, now)
}

// heard reports whether another node wakes the listeners of a shard now.
func (x *exchange) heard(now time.Time, k shardKey) bool {
	f := x.out.of(k)
	return f != nil && f.surely(x, now)
}

// followings has a *following by shardKey.
type followings struct{ sync.Map }

// of returns how this node follows another one for a shard, or nil if it does not.
func (l *followings) of(k shardKey) *following {
	f, _ := l.Load(k)
	g, _ := f.(*following)
	return g
}

// surely reports whether the owner of a shard covers it now. The caller need not hold mu.
func (f *following) surely(x *exchange, now time.Time) bool {
	at := f.sure.Load()
	return at != unsure && now.Sub(x.began)-time.Duration(at) <= doubtBeats*x.every
}

// cover notes that the owner covers a shard, or does not, according to the newest answer to a question asked at a time.
// The caller holds mu.
func (f *following) cover(x *exchange, covered bool, at time.Time) {
	f.covered = covered
	if !covered {
		f.sure.Store(unsure)
		return
	}
	if f.sign.Before(at) {
		f.sign = at
	}
	f.sure.Store(int64(f.sign.Sub(x.began)))
}

// lapsed reports whether the owner has been silent for too long. The caller holds mu.
func (x *exchange) lapsed(now time.Time, f *following) bool {
	return now.Sub(f.sign) > doubtBeats*x.every
}

// lapse ends coverage by silent owners. It returns the shards that this node must watch itself now.
func (x *exchange) lapse(now time.Time) (list []shardKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.mu.byKey {
		if f.covered && x.lapsed(now, f) {
			f.cover(x, false, now)
			list = append(list, f.shardKey)
		}
	}
	return list
}

// follow begins to follow owner for a shard, unless it already does. first means that there are news now (tellNews),
// and were none before.
func (x *exchange) follow(k shardKey, owner string) (first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	none := len(x.mu.news) == 0
	x.drop(k, owner)
	if x.out.of(k) == nil {
		x.mu.serial++
		f := &following{shardKey: k, key: x.mu.serial, owner: owner}
		f.sure.Store(unsure)
		x.mu.byKey[f.key] = f
		x.out.Store(k, f)
		of := x.mu.news.of(owner)
		of.follow = append(of.follow, f)
	}
	return none && len(x.mu.news) > 0
}

// unfollow stops following for a shard. first is that of follow.
func (x *exchange) unfollow(k shardKey) (first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	none := len(x.mu.news) == 0
	x.drop(k, "")
	return none && len(x.mu.news) > 0
}

// drop stops following all members except keep for a shard. The caller holds mu.
func (x *exchange) drop(k shardKey, keep string) {
	f := x.out.of(k)
	if f == nil || f.owner == keep {
		return
	}
	x.out.Delete(k)
	delete(x.mu.byKey, f.key)
	of := x.mu.news.of(f.owner)
	of.unfollow = append(of.unfollow, f.key)
}

// ownersNews are news by owner.
type ownersNews map[string]*news

// of returns the news for an owner.
func (l ownersNews) of(owner string) *news {
	if l[owner] == nil {
		l[owner] = &news{}
	}
	return l[owner]
}

// tellNews tells owners what they were not told yet. Many shards share a message: a message for each of very many would
// be lost, and have the owner's actors of all shards of a database check each time whom to follow.
func (x *exchange) tellNews(now time.Time) (out []outgoing) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, owner := range slices.Sorted(maps.Keys(x.mu.news)) {
		of := x.mu.news[owner]
		for part := range slices.Chunk(of.unfollow, maxAsks) {
			out = append(out, outgoing{owner, message{Unfollow: part}})
		}
		still := slices.DeleteFunc(of.follow, func(f *following) bool { return x.mu.byKey[f.key] == nil })
		out = append(out, x.ask(now, owner, still)...)
	}
	clear(x.mu.news)
	return out
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
	for _, f := range x.mu.byKey {
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
	list := shards
	if x.mu.digests[owner] && !x.mu.whole[owner] {
		list = uncovered(shards)
	}
	// Those of the same database came together. Beside each other they share messages: each message makes the actors of
	// all shards of each database in it check whom to follow.
	slices.SortFunc(list, func(a, b *following) int { return cmp.Compare(a.key, b.key) })
	out = x.ask(now, owner, list)
	if len(list) < len(shards) {
		d := digest{}
		for _, f := range shards {
			d.add(f.key, "")
		}
		out = append(out, outgoing{owner, message{Turn: x.nextTurn(now), Same: &d}})
	}
	return out
}

// ask asks an owner to be woken for shards. The caller holds mu.
func (x *exchange) ask(now time.Time, owner string, shards []*following) (out []outgoing) {
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
	return len(x.mu.byKey) == 0 && len(x.mu.in) == 0
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
	f := ExchangeFacts{Following: len(x.mu.byKey), Members: len(x.mu.in), Dropped: x.dropped.Load()}
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
			if ok {
				f.cover(x, true, at)
			}
		}
	}
	for _, st := range l.Positions {
		f := x.mu.byKey[st.Key]
		switch {
		case f == nil || f.owner != from:
		case st.Refused:
			x.refuse(now, f.shardKey, from, st.refusedFor())
			f.cover(x, false, at)
			changed = append(changed, f.shardKey)
		case !st.Watched && f.covered && !at.Before(f.sign):
			f.cover(x, false, at)
			changed = append(changed, f.shardKey)
		case st.Watched && fresh:
			// What was committed while the shard was not covered woke nobody. The shard's actor also wakes its
			// listeners when it learns of the cover, but it may be between two lives.
			if !f.covered || f.tally != st.Tally {
				wake = append(wake, f.shardKey)
			}
			f.tally = st.Tally
			if !f.covered {
				changed = append(changed, f.shardKey)
			}
			f.cover(x, true, at)
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

package feeds

import (
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Under a stream of commits, listeners get all entries of a gap in one read. The gap between two wakes grows with the
// number of listeners, because each of them does work and together they must not take the CPU from the writers. A
// commit after a gap without commits wakes immediately.
const (
	minWakeGap     = time.Millisecond
	maxWakeGap     = 20 * time.Millisecond
	gapPerListener = 3 * time.Microsecond
)

// Pauses after failures double from minPause to maxPause. An engine that has too many watches returns ones that fail
// at once, so a watch counts as a success only after it has fired or lasted.
const (
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// shardBehavior learns of changes in one shard and wakes its subscribers (clause C7). If the shard's actor is placed on
// this node, it watches the store. If it is placed on another node, it follows that node: the exchange reports whether
// that node watches, and delivers its wakes. While that is in doubt, this node watches by itself. A node with followers
// always watches, so that two nodes that disagree on the placement never wait for each other.
//
// The order for a watch is: it fires, the read version of the next watch is fixed, the listeners are woken, and the
// next watch is armed. Commits up to that version are found when the listeners read, which happens later. Commits after
// it fire the next watch. So no commit is missed, each listener is woken once, and no wake-up waits for the arming.
// After every change of the node to follow, the listeners are woken, so that they check for changes.
type shardBehavior struct {
	wanted func() bool // reports whether the shard has subscribers
	// elsewhere returns the node to follow, or "" if this node should watch, and whether that node can be relied on
	// now.
	elsewhere func() (owner string, covered bool)
	listeners func() int    // number on this node
	ending    func() bool   // reports that listeners do not matter any more, see Feeds.Ending
	patience  time.Duration // how long to wait for the owner's first answer before watching
	linger    time.Duration
	backoff   runtime.Backoff

	phase    shardPhase
	owner    string   // the node being followed or asked; empty: none
	epoch    int      // identifies this node's current watch: events of earlier ones are ignored
	watch    kv.Watch // the armed watch, or nil
	armedAt  time.Time
	lastWake time.Time
	idle     bool // the shard has no subscribers; stops after linger
	idleTurn int  // the latest valid idleOver

	facts ShardFacts
}

type shardPhase string

const (
	shardAsking    shardPhase = "asking"      // another node was asked and has not answered yet
	shardFollowing shardPhase = "following"   // another node watches and wakes this one
	shardArming    shardPhase = "arming"      // a transaction is arming the watch
	shardWatching  shardPhase = "watching"    // the watch is armed
	shardPausing   shardPhase = "pausing"     // the watch fired so soon that the next one is armed after a pause
	shardRetrying  shardPhase = "backing off" // the store failed
	shardGone      shardPhase = "gone"        // the database was deleted; the listeners notice and leave
)

// ShardFacts describe the state of a changes-shard actor.
type ShardFacts struct {
	Node      string `json:"node"`      // the node that the shard's actor is placed on
	Listeners int    `json:"listeners"` // waiting feeds on this node
	Upkeep    int    `json:"upkeep"`    // listeners of this node itself, which keep indexes warm
	Followers int    `json:"followers"` // nodes that this one wakes
	Wakes     int64  `json:"wakes"`     // since the shard has subscribers
	// Lag is for how many seconds there may have been changes that the listeners were not told of. It is 0 while the
	// shard is watched, by this node or another.
	Lag   float64 `json:"lag"`
	Seq   string  `json:"seq,omitempty"` // the shard's newest sequence when the watch was armed
	Error string  `json:"error,omitempty"`

	unsure time.Time // when Lag began; zero while it is 0
}

// Messages of a shard actor.
type (
	watchArmed struct {
		epoch int
		watch kv.Watch
		seen  layer.Seq
		err   error
	}
	watchFired struct {
		epoch int
		err   error
	}
	armNow struct{ epoch int }
	// askedLong means that the owner has had its time to answer.
	askedLong struct{ epoch int }
	idleOver  struct{ turn int }
)

// Effects of a shard actor.
type (
	// arm wakes the listeners once the watch's read version is fixed, and arms the watch.
	arm   struct{ epoch int }
	await struct {
		epoch int
		watch kv.Watch
	}
	wakeThem  struct{}
	dropWatch struct{ watch kv.Watch }
	// follow and unfollow another node.
	follow   struct{ owner string }
	unfollow struct{}
	// report tells followers, and the guard of this node's listeners, whether this node watches.
	report struct{ watchState }
)

func (b *shardBehavior) Step(now time.Time, message any) []runtime.Effect {
	effects := b.step(now, message)
	switch {
	case b.phase == shardWatching || b.phase == shardFollowing:
		b.facts.unsure = time.Time{}
	case b.facts.unsure.IsZero():
		b.facts.unsure = now
	}
	return effects
}

func (b *shardBehavior) step(now time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started:
		if owner, _ := b.elsewhere(); owner == "" {
			return b.begin(now)
		}
		return append(b.ask(), b.hear(now)...)
	case armNow:
		if m.epoch == b.epoch {
			return b.arm(now)
		}
	case askedLong:
		if m.epoch == b.epoch && b.phase == shardAsking {
			return b.begin(now)
		}
	case watchArmed:
		return b.armed(now, m)
	case watchFired:
		if m.epoch == b.epoch {
			return b.onFired(now, m.err)
		}
	case runtime.LookAgain:
		if b.ending() {
			return nil
		}
		return append(b.hear(now), b.look()...)
	case idleOver:
		if b.idle && m.turn == b.idleTurn && !b.wanted() {
			return append(b.leave(), runtime.StopSelf{})
		}
	}
	return nil
}

// hear determines which node to follow, if any.
func (b *shardBehavior) hear(now time.Time) []runtime.Effect {
	owner, covered := b.elsewhere()
	following := b.phase == shardAsking || b.phase == shardFollowing
	switch {
	case owner == "" && following:
		return append(b.leave(), b.begin(now)...)
	case owner == "":
		return append(b.leave(), b.reported()...)
	case owner != b.owner && following:
		return b.ask()
	case owner != b.owner:
		b.owner = owner // and watch until it has answered
		return []runtime.Effect{follow{owner}}
	case covered && b.phase != shardFollowing:
		b.phase = shardFollowing
		return append(b.drop(), b.wake(now))
	case !covered && b.phase == shardFollowing:
		return b.begin(now)
	}
	return nil
}

// ask follows the owner and gives it some time to answer.
func (b *shardBehavior) ask() []runtime.Effect {
	e := b.drop()
	b.owner, _ = b.elsewhere()
	b.phase = shardAsking
	return append(e, follow{b.owner}, runtime.After{Delay: b.patience, Message: askedLong{b.epoch}})
}

// leave stops following.
func (b *shardBehavior) leave() []runtime.Effect {
	if b.owner == "" {
		return nil
	}
	b.owner = ""
	return []runtime.Effect{unfollow{}}
}

// begin starts to watch the store.
func (b *shardBehavior) begin(now time.Time) []runtime.Effect {
	b.epoch++
	return b.arm(now)
}

// arm arms a watch. It wakes the listeners, because something may have been committed before.
func (b *shardBehavior) arm(now time.Time) []runtime.Effect {
	b.phase, b.lastWake = shardArming, now
	return []runtime.Effect{arm{b.epoch}}
}

// drop stops watching the store.
func (b *shardBehavior) drop() []runtime.Effect {
	b.epoch++
	if b.watch == nil {
		return nil
	}
	w := b.watch
	b.watch = nil
	return []runtime.Effect{report{stateNone}, dropWatch{w}}
}

func (b *shardBehavior) armed(now time.Time, m watchArmed) []runtime.Effect {
	if m.epoch != b.epoch {
		if m.watch == nil {
			return nil
		}
		return []runtime.Effect{dropWatch{m.watch}}
	}
	if m.err != nil {
		return b.failed(now, m.err)
	}
	b.phase, b.facts.Error = shardWatching, ""
	b.watch, b.armedAt = m.watch, now
	b.facts.Seq = m.seen.String()
	e := append([]runtime.Effect{await{b.epoch, m.watch}}, b.reported()...)
	return append(e, b.look()...)
}

// reported reports to others that this node watches, if it does.
func (b *shardBehavior) reported() []runtime.Effect {
	if b.phase != shardWatching {
		return nil
	}
	return []runtime.Effect{report{stateWatched}}
}

func (b *shardBehavior) onFired(now time.Time, err error) []runtime.Effect {
	b.watch = nil
	if err == nil || now.Sub(b.armedAt) >= maxPause {
		b.backoff.Reset()
	}
	if err != nil {
		return b.failed(now, err)
	}
	e := []runtime.Effect{report{stateArming}}
	between := min(max(minWakeGap, time.Duration(b.listeners())*gapPerListener), maxWakeGap)
	if gap := between - now.Sub(b.lastWake); gap > 0 {
		b.phase = shardPausing
		return append(e, runtime.After{Delay: gap, Message: armNow{b.epoch}})
	}
	return append(e, b.arm(now)...)
}

// failed wakes the listeners even so: they read, and see the error themselves.
func (b *shardBehavior) failed(now time.Time, err error) []runtime.Effect {
	b.facts.Error = err.Error()
	b.phase = shardRetrying
	if layer.KindOf(err) == layer.NotFound {
		b.phase = shardGone
	}
	return append(
		[]runtime.Effect{
			report{stateNone},
			b.wake(now),
			runtime.After{Delay: b.backoff.Next(), Message: armNow{b.epoch}},
		},
		b.look()...)
}

func (b *shardBehavior) wake(now time.Time) runtime.Effect {
	b.lastWake = now
	return wakeThem{}
}

// look starts to linger if the shard has no subscribers.
func (b *shardBehavior) look() []runtime.Effect {
	if b.wanted() {
		b.idle = false
		return nil
	}
	if b.idle {
		return nil
	}
	b.idle = true
	b.idleTurn++
	return []runtime.Effect{runtime.After{Delay: b.linger, Message: idleOver{b.idleTurn}}}
}

func (b *shardBehavior) Status() (string, any) { return string(b.phase), b.facts }

package feeds

import (
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Under a stream of commits, listeners get the entries of a gap in one reading. The gap between two wakes grows with
// the listeners: each of them has work, and together they are not to take the processors from the writers. A commit
// after a gap without any wakes at once.
const (
	minWakeGap     = time.Millisecond
	maxWakeGap     = 20 * time.Millisecond
	gapPerListener = 3 * time.Microsecond
)

// shardBehavior hears of one shard and wakes those who want to (clause C7). Where the shard's actor is placed on this
// node, it watches the store. Where it is placed on another one it follows that: the exchange says whether that one
// watches, and wakes come from there; while there is doubt it watches by itself. A node that others follow watches in
// any case, so that two nodes that disagree on the placement never wait for each other.
//
// The order of a watch is: it fires, the read version is settled as of which the next one looks at the shard, the
// listeners are woken, and then the next one is armed. What is committed up to that version is found by the listeners'
// reading, which begins later; what is committed after it fires the next watch. So nothing is missed, each listener is
// woken once, and none waits for the arming. After every change of whom to hear from, the listeners are woken and look
// for themselves.
type shardBehavior struct {
	wanted func() bool // whether somebody wants to hear of the shard
	// elsewhere is the node to follow, empty where this one is to watch, and whether that one can be relied on now.
	elsewhere func() (owner string, covered bool)
	listeners func() int    // of this node
	patience  time.Duration // to wait for the owner's first answer before watching
	linger    time.Duration
	backoff   runtime.Backoff

	phase    shardPhase
	owner    string   // that was asked; empty: none
	epoch    int      // of this node's own watching: what belongs to an earlier one comes too late
	watch    kv.Watch // armed; nil where none is
	lastWake time.Time
	idle     bool // told that nobody wants to hear; stops after linger
	idleTurn int  // the latest idleOver that counts

	facts ShardFacts
}

type shardPhase string

const (
	shardAsking    shardPhase = "asking"      // another node, which has not answered yet
	shardFollowing shardPhase = "following"   // another node watches, and wakes this one
	shardArming    shardPhase = "arming"      // a transaction is arming the watch
	shardWatching  shardPhase = "watching"    // the watch is armed
	shardPausing   shardPhase = "pausing"     // the watch fired so soon that it is armed a little later
	shardRetrying  shardPhase = "backing off" // the store failed
	shardGone      shardPhase = "gone"        // the database was deleted; the listeners find out and go
)

// ShardFacts are the figures of a changes-shard actor.
type ShardFacts struct {
	Node      string `json:"node"`          // that the shard's actor is placed on
	Listeners int    `json:"listeners"`     // of this node
	Followers int    `json:"followers"`     // nodes that this one wakes
	Wakes     int64  `json:"wakes"`         // since somebody wants to hear of it
	Seq       string `json:"seq,omitempty"` // the shard's newest when the watch was armed
	Error     string `json:"error,omitempty"`
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
	// askedLong says that the owner had its time to answer.
	askedLong struct{ epoch int }
	idleOver  struct{ turn int }
)

// Effects of a shard actor.
type (
	// arm wakes the listeners once it is settled what the watch looks at, and arms it.
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
	// report says whether this node watches: to those who follow it, and to the guard of its own listeners.
	report struct{ watchState }
)

func (b *shardBehavior) Step(now time.Time, message any) []runtime.Effect {
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
		return append(b.hear(now), b.look()...)
	case idleOver:
		if b.idle && m.turn == b.idleTurn && !b.wanted() {
			return append(b.leave(), runtime.StopSelf{})
		}
	}
	return nil
}

// hear looks whom to hear from.
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

// ask follows the owner and gives it a moment to answer.
func (b *shardBehavior) ask() []runtime.Effect {
	e := b.drop()
	b.owner, _ = b.elsewhere()
	b.phase = shardAsking
	return append(e, follow{b.owner}, runtime.After{Delay: b.patience, Message: askedLong{b.epoch}})
}

// leave ceases to follow.
func (b *shardBehavior) leave() []runtime.Effect {
	if b.owner == "" {
		return nil
	}
	b.owner = ""
	return []runtime.Effect{unfollow{}}
}

// begin watches the store.
func (b *shardBehavior) begin(now time.Time) []runtime.Effect {
	b.epoch++
	return b.arm(now)
}

// arm arms a watch. The listeners are woken on the way: something may have been committed before.
func (b *shardBehavior) arm(now time.Time) []runtime.Effect {
	b.phase, b.lastWake = shardArming, now
	return []runtime.Effect{arm{b.epoch}}
}

// drop ceases to watch the store.
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
	b.backoff.Reset()
	b.phase, b.facts.Error = shardWatching, ""
	b.watch = m.watch
	b.facts.Seq = m.seen.String()
	e := append([]runtime.Effect{await{b.epoch, m.watch}}, b.reported()...)
	return append(e, b.look()...)
}

// reported tells others that this node watches, where it does.
func (b *shardBehavior) reported() []runtime.Effect {
	if b.phase != shardWatching {
		return nil
	}
	return []runtime.Effect{report{stateWatched}}
}

func (b *shardBehavior) onFired(now time.Time, err error) []runtime.Effect {
	b.watch = nil
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

// failed wakes the listeners all the same: they read by themselves and find out.
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

// look starts the time to linger when nobody wants to hear.
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

package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// minWakeGap is the shortest time between two wakes of a shard's listeners: under a stream of commits, listeners get the entries of a gap in
// one reading.
const minWakeGap = time.Millisecond

// shardBehavior watches one shard and wakes those who listen to it (clause C7).
//
// The order is: the watch fires, a new one is armed, then the listeners are woken. What is committed before the new watch saw the shard is found by
// the listeners' reading, which begins later; what is committed after it fires it. So nothing is missed and each listener is woken once.
type shardBehavior struct {
	wanted  func() bool // whether somebody listens
	linger  time.Duration
	backoff backoff

	phase    shardPhase
	seen     layer.Seq // the newest sequence when the watch was armed last
	known    bool      // whether seen was ever read
	fired    bool      // a watch fired since the last wake
	lastWake time.Time
	idle     bool // told that nobody listens; stops after linger
	idleTurn int  // the latest idleOver that counts

	facts ShardFacts
}

type shardPhase string

const (
	shardArming   shardPhase = "arming"      // a transaction is arming the watch
	shardWatching shardPhase = "watching"    // the watch is armed
	shardPausing  shardPhase = "pausing"     // the watch fired so soon that it is armed a little later
	shardRetrying shardPhase = "backing off" // the store failed
	shardGone     shardPhase = "gone"        // the database was deleted; the listeners find out and go
)

// ShardFacts are the figures of a changes-shard actor.
type ShardFacts struct {
	Listeners int    `json:"listeners"`
	Wakes     int64  `json:"wakes"`
	Seq       string `json:"seq,omitempty"` // the shard's newest when the watch was armed
	Error     string `json:"error,omitempty"`
}

// Messages of a shard actor.
type (
	watchArmed struct {
		watch kv.Watch
		seen  layer.Seq
		err   error
	}
	watchFired struct{ err error }
	armNow     struct{}
	// lookAgain says that listeners came or went.
	lookAgain struct{}
	idleOver  struct{ turn int }
)

// Effects of a shard actor.
type (
	arm      struct{}
	await    struct{ watch kv.Watch }
	wakeThem struct{}
)

func (b *shardBehavior) step(now time.Time, message any) []effect {
	switch m := message.(type) {
	case started, armNow:
		b.phase = shardArming
		return []effect{arm{}}
	case watchArmed:
		return b.armed(now, m)
	case watchFired:
		return b.onFired(now, m.err)
	case lookAgain:
		return b.look()
	case idleOver:
		if b.idle && m.turn == b.idleTurn && !b.wanted() {
			return []effect{stopSelf{}}
		}
	}
	return nil
}

func (b *shardBehavior) armed(now time.Time, m watchArmed) []effect {
	if m.err != nil {
		return b.failed(now, m.err)
	}
	b.backoff.reset()
	b.phase, b.facts.Error = shardWatching, ""
	e := []effect{await{m.watch}}
	if b.fired || !b.known || m.seen != b.seen {
		e = append(e, b.wake(now))
	}
	b.seen, b.known, b.facts.Seq = m.seen, true, m.seen.String()
	return append(e, b.look()...)
}

func (b *shardBehavior) onFired(now time.Time, err error) []effect {
	if err != nil {
		return b.failed(now, err)
	}
	b.fired = true
	if gap := minWakeGap - now.Sub(b.lastWake); gap > 0 {
		b.phase = shardPausing
		return []effect{after{gap, armNow{}}}
	}
	b.phase = shardArming
	return []effect{arm{}}
}

// failed wakes the listeners all the same: they read by themselves and find out.
func (b *shardBehavior) failed(now time.Time, err error) []effect {
	b.facts.Error = err.Error()
	b.phase = shardRetrying
	if layer.KindOf(err) == layer.NotFound {
		b.phase = shardGone
	}
	return append([]effect{b.wake(now), after{b.backoff.next(), armNow{}}}, b.look()...)
}

func (b *shardBehavior) wake(now time.Time) effect {
	b.fired, b.lastWake = false, now
	b.facts.Wakes++
	return wakeThem{}
}

// look starts the time to linger when nobody listens.
func (b *shardBehavior) look() []effect {
	if b.wanted() {
		b.idle = false
		return nil
	}
	if b.idle {
		return nil
	}
	b.idle = true
	b.idleTurn++
	return []effect{after{b.linger, idleOver{b.idleTurn}}}
}

func (b *shardBehavior) status() (string, any) { return string(b.phase), b.facts }

// shardSpec is the actor of one shard.
func (s *System) shardSpec(db Database, shard layer.ShardID) spec {
	return spec{
		kind: "shard", name: string(shard),
		make: func() behavior {
			return &shardBehavior{linger: s.o.Linger, backoff: newBackoff(10*time.Millisecond, 5*time.Second),
				wanted: func() bool { return s.hub.listeners(db, shard) > 0 }}
		},
		live: func(facts any) any {
			f := facts.(ShardFacts)
			f.Listeners = s.hub.listeners(db, shard)
			return f
		},
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case arm:
				sh.do(func(ctx context.Context) any {
					w, seen, err := db.WatchShard(ctx, shard)
					if err != nil {
						return watchArmed{err: err}
					}
					return watchArmed{watch: s.hold(ctx, w), seen: seen}
				})
			case await:
				sh.do(func(ctx context.Context) any {
					defer e.watch.Cancel()
					select {
					case <-ctx.Done():
						return nil
					case <-e.watch.Done():
						return watchFired{e.watch.Err()}
					}
				})
			case wakeThem:
				s.hub.wake(db, shard)
				s.figures.woke()
			}
		},
	}
}

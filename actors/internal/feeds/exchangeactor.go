package feeds

import (
	"context"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
)

// exchangeBehavior drives the exchange: with a beat while there are shards to follow or followers, and a check of every
// shard after each change of placement.
type exchangeBehavior struct {
	every time.Duration
	idle  func() bool
	facts func() ExchangeFacts
	// dropped counts a message that is not answered.
	dropped func()

	beating   bool
	answering int // messages that are being answered
}

// ExchangeFacts describe the state of the exchange.
type ExchangeFacts struct {
	Following int `json:"following"` // shards for which this node follows others
	Followed  int `json:"followed"`  // shards that others follow here, counted once for each of them
	Members   int `json:"members"`   // the number of these others
	// Dropped counts messages from others that came faster than they could be answered. They are repeated.
	Dropped int64 `json:"dropped,omitempty"`
}

// Messages of the exchange.
type (
	newsCame         struct{} // there are news to tell, and may be a reason for beats again
	beatNow          struct{}
	answered         struct{}
	placementChanged struct{}
	// messageCame has a member's message about what it follows here.
	messageCame struct {
		from string
		*message
	}
)

// Effects of the exchange.
type (
	sendBeat       struct{}
	sendNews       struct{}
	awaitPlacement struct{}
	lookEverywhere struct{}
	answerMessage  messageCame
)

func (b *exchangeBehavior) Step(_ time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started:
		return append([]runtime.Effect{awaitPlacement{}, sendNews{}}, b.again()...)
	case newsCame:
		return append([]runtime.Effect{sendNews{}}, b.again()...)
	case answered:
		b.answering--
		return b.again()
	case beatNow:
		b.beating = false
		return append([]runtime.Effect{sendBeat{}}, b.again()...)
	case placementChanged:
		return []runtime.Effect{lookEverywhere{}, awaitPlacement{}}
	case messageCame:
		if b.answering == mostAnswering {
			b.dropped()
			return nil
		}
		b.answering++
		return []runtime.Effect{answerMessage(m)}
	}
	return nil
}

func (b *exchangeBehavior) again() []runtime.Effect {
	if b.beating || b.idle() {
		return nil
	}
	b.beating = true
	return []runtime.Effect{runtime.After{Delay: b.every, Message: beatNow{}}}
}

func (b *exchangeBehavior) Status() (string, any) {
	if b.beating {
		return "beating", b.facts()
	}
	return "idle", b.facts()
}

// ExchangeSpec returns the actor that drives the exchange.
func (f *Feeds) ExchangeSpec() runtime.Spec {
	return runtime.Spec{
		Kind: exchangeKind,
		Make: func() runtime.Behavior {
			return &exchangeBehavior{every: f.Beat, idle: f.exchange.idle, facts: f.exchange.facts,
				dropped: func() { f.exchange.dropped.Add(1) }}
		},
		Live: func(any) any { return f.exchange.facts() },
		Perform: func(sh *runtime.Shell, e runtime.Effect) {
			switch e := e.(type) {
			case sendBeat:
				f.sendBeat()
			case sendNews:
				f.send(f.exchange.tellNews(f.tree.Now()))
			case answerMessage:
				sh.Do(func(ctx context.Context) any {
					f.answer(ctx, e.from, e.message)
					return answered{}
				})
			case lookEverywhere:
				for _, db := range f.hub.databases() {
					if f.ending.Load() {
						return
					}
					f.Changed(db)
				}
			case awaitPlacement:
				sh.Do(func(ctx context.Context) any {
					select {
					case <-ctx.Done():
						return nil
					case <-f.placement:
						return placementChanged{}
					}
				})
			}
		},
	}
}

// sendBeat sends a beat.
func (f *Feeds) sendBeat() {
	f.send(f.exchange.tellNews(f.tree.Now()))
	out, gone := f.exchange.beat(f.tree.Now())
	f.send(out)
	changed := f.exchange.takenBack(f.tree.Now())
	for _, g := range gone {
		if f.hub.unfollow(g.db, g.shard, g.member) {
			changed = append(changed, g.shardKey)
		}
	}
	eachChanged(f, changed)
}

// answer records what a member follows here and tells it whether this node watches. It may have to open databases. It
// does not answer for those that it cannot open, so the member watches them itself.
func (f *Feeds) answer(ctx context.Context, from string, l *message) {
	reached := (len(l.Follow) > 0 || l.Same != nil) && f.reaches(ctx)
	now := f.tree.Now()
	var changed []shardKey
	defer func() { eachChanged(f, changed) }()
	for _, k := range f.exchange.forget(from, l.Unfollow) {
		if f.hub.unfollow(k.db, k.shard, from) {
			changed = append(changed, k)
		}
	}
	a := message{Answer: l.Turn, Digests: true}
	if l.Same != nil {
		changed = append(changed, f.answerSame(from, l, reached, now, &a)...)
	}
	for _, q := range l.Follow {
		db, err := f.Store.Database(ctx, q.Database)
		if err != nil || db.Number() != q.Number {
			continue
		}
		f.exchange.remember(from, shardKey{db, q.Shard}, memberKey{q.Key, now.Add(lapseBeats * f.Beat)})
		st, first := f.hub.follow(db, q.Shard, from, follower{key: q.Key, turn: l.Turn}, reached, now)
		a.Positions = append(a.Positions, f.orRefused(st, shardKey{db, q.Shard}))
		if first {
			changed = append(changed, shardKey{db, q.Shard})
		}
	}
	if len(a.Positions) > 0 || l.Same != nil {
		f.Peers.Send(from, a.encode())
	}
}

// answerSame answers a digest of what a member follows here: with the shards that have changed lately or are not
// watched, and a digest of the others. changed are those that the member did not follow until now.
func (f *Feeds) answerSame(from string, l *message, reached bool, now time.Time, a *message) (changed []shardKey) {
	list, ok := f.exchange.same(from, *l.Same, func(k memberKey) memberKey {
		return memberKey{k.key, now.Add(lapseBeats * f.Beat)}
	})
	a.Rest = &digest{}
	for key, k := range list {
		st, first := f.hub.follow(k.db, k.shard, from, follower{key: key, turn: l.Turn}, reached, now)
		if first {
			changed = append(changed, k)
		}
		st = f.orRefused(st, k)
		if st.Watched && now.Sub(st.changed) > recentBeats*f.Beat {
			a.Rest.add(key, st.Tally)
		} else {
			a.Positions = append(a.Positions, st)
		}
	}
	if !ok || len(a.Positions) > maxAsks {
		a.Rest, a.Positions, a.Whole = nil, nil, true
	}
	return changed
}

// exchangeKind is the kind of the exchange's actor.
const exchangeKind = "exchange"

// Members repeat in every beat what they follow, so messages beyond these limits are dropped.
const (
	// mostWaiting is how many messages may wait for the exchange's actor.
	mostWaiting = 1000
	// mostAnswering is how many messages are answered at the same time.
	mostAnswering = 64
)

// ExchangeKey is the key of the exchange's actor below the root.
const ExchangeKey = "exchange"

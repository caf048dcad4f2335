package actors

import (
	"context"
	"time"
)

// exchangeBehavior paces the exchange: a beat while there is somebody to follow or who follows, and a look of every
// shard after each change of placement.
type exchangeBehavior struct {
	every time.Duration
	idle  func() bool
	facts func() ExchangeFacts

	beating bool
}

// ExchangeFacts are the figures of the exchange.
type ExchangeFacts struct {
	Following int `json:"following"` // shards that this node hears of from others
	Followed  int `json:"followed"`  // shards that others hear of from this node, once for each of them
	Members   int `json:"members"`   // those others
}

// Messages of the exchange.
type (
	beatAgain        struct{} // there is something to pace, perhaps
	beatNow          struct{}
	placementChanged struct{}
	// letterCame has what a member follows here.
	letterCame struct {
		from string
		*letter
	}
)

// Effects of the exchange.
type (
	sayAgain       struct{}
	awaitPlacement struct{}
	lookEverywhere struct{}
	answerLetter   letterCame
)

func (b *exchangeBehavior) Step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
		return append([]effect{awaitPlacement{}}, b.again()...)
	case beatAgain:
		return b.again()
	case beatNow:
		b.beating = false
		return append([]effect{sayAgain{}}, b.again()...)
	case placementChanged:
		return []effect{lookEverywhere{}, awaitPlacement{}}
	case letterCame:
		return []effect{answerLetter(m)}
	}
	return nil
}

func (b *exchangeBehavior) again() []effect {
	if b.beating || b.idle() {
		return nil
	}
	b.beating = true
	return []effect{after{delay: b.every, message: beatNow{}}}
}

func (b *exchangeBehavior) Status() (string, any) {
	if b.beating {
		return "beating", b.facts()
	}
	return "idle", b.facts()
}

func (f *feeds) exchangeSpec() spec {
	return spec{
		kind: "exchange",
		make: func() behavior {
			return &exchangeBehavior{every: f.beat, idle: f.exchange.idle, facts: f.exchange.facts}
		},
		live: func(any) any { return f.exchange.facts() },
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case sayAgain:
				f.sayAgain()
			case answerLetter:
				sh.do(func(ctx context.Context) any { return f.answer(ctx, e.from, e.letter) })
			case lookEverywhere:
				for _, db := range f.hub.databases() {
					f.changed(db)
				}
			case awaitPlacement:
				sh.do(func(ctx context.Context) any {
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

// sayAgain is a beat.
func (f *feeds) sayAgain() {
	out, gone := f.exchange.beat(f.tree.now())
	f.send(out)
	for _, g := range gone {
		if f.hub.unfollow(g.db, g.shard, g.member) {
			f.changed(g.db)
		}
	}
}

// answer notes what a member follows here and tells it how this node stands to that. It opens databases that this node
// may not have used yet; of those that it cannot open it says nothing, and the member watches by itself.
func (f *feeds) answer(ctx context.Context, from string, l *letter) any {
	reached := len(l.Follow) > 0 && f.reaches(ctx)
	now := f.tree.now()
	for _, k := range f.exchange.forget(from, l.Unfollow) {
		if f.hub.unfollow(k.db, k.shard, from) {
			f.changed(k.db)
		}
	}
	a := letter{Answer: l.Turn}
	for _, q := range l.Follow {
		db, err := f.store.Database(ctx, q.Database)
		if err != nil || db.Number() != q.Number {
			continue
		}
		f.exchange.remember(from, shardKey{db, q.Shard}, guest{q.Key, now.Add(lapseBeats * f.beat)})
		st, first := f.hub.follow(db, q.Shard, from, follower{key: q.Key, turn: l.Turn}, reached, now)
		a.Standing = append(a.Standing, st)
		if first {
			f.changed(db)
		}
	}
	if len(a.Standing) > 0 {
		f.peers.Send(from, a.encode())
	}
	return beatAgain{}
}

// exchangeKey is the root's child that paces the exchange.
const exchangeKey = "exchange"

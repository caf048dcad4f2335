package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
)

// exchangeBehavior paces the exchange: a beat while there is somebody to follow or who follows, and a look of every shard after each change of placement.
type exchangeBehavior struct {
	every time.Duration
	idle  func() bool
	facts func() ExchangeFacts

	beating bool
}

// ExchangeFacts are the figures of the exchange.
type ExchangeFacts struct {
	Following int `json:"following"` // shards that this node hears of from others
	Followed  int `json:"followed"`  // shards that others hear of from this node; one that two nodes follow counts twice
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

func (b *exchangeBehavior) step(_ time.Time, message any) []effect {
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
	return []effect{after{b.every, beatNow{}}}
}

func (b *exchangeBehavior) status() (string, any) {
	if b.beating {
		return "beating", b.facts()
	}
	return "idle", b.facts()
}

func (s *System) exchangeSpec() spec {
	return spec{
		kind: "exchange",
		make: func() behavior {
			return &exchangeBehavior{every: s.o.Beat, idle: s.exchange.idle, facts: s.exchange.facts}
		},
		live: func(any) any { return s.exchange.facts() },
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case sayAgain:
				s.sayAgain()
			case answerLetter:
				sh.do(func(ctx context.Context) any { return s.answer(ctx, e.from, e.letter) })
			case lookEverywhere:
				for _, db := range s.hub.databases() {
					s.toDatabases(listenersChanged{db})
				}
			case awaitPlacement:
				sh.do(func(ctx context.Context) any {
					select {
					case <-ctx.Done():
						return nil
					case <-s.placement:
						return placementChanged{}
					}
				})
			}
		},
	}
}

// sayAgain is a beat.
func (s *System) sayAgain() {
	out, gone := s.exchange.beat(s.now())
	s.send(out)
	for _, g := range gone {
		if s.hub.unfollow(g.db, g.shard, g.member) {
			s.toDatabases(listenersChanged{g.db})
		}
	}
}

// answer notes what a member follows here and tells it how this node stands to that. It opens databases that this node may not have used yet; of those
// that it cannot open it says nothing, and the member watches by itself.
func (s *System) answer(ctx context.Context, from string, l *letter) any {
	reached := len(l.Follow) > 0 && s.reaches(ctx)
	now := s.now()
	for _, k := range s.exchange.forget(from, l.Unfollow) {
		if s.hub.unfollow(k.db, k.shard, from) {
			s.toDatabases(listenersChanged{k.db})
		}
	}
	a := letter{Answer: l.Turn}
	for _, q := range l.Follow {
		db, err := s.store.Database(ctx, q.Database)
		if err != nil || db.Number() != q.Number {
			continue
		}
		s.exchange.remember(from, shardKey{db, q.Shard}, guest{q.Key, now.Add(lapseBeats * s.o.Beat)})
		st, first := s.hub.follow(db, q.Shard, from, follower{key: q.Key, turn: l.Turn}, reached, now)
		a.Standing = append(a.Standing, st)
		if first {
			s.toDatabases(listenersChanged{db})
		}
	}
	if len(a.Standing) > 0 {
		s.o.Peers.Send(from, a.encode())
	}
	return beatAgain{}
}

// Receive takes what another member's System sent by Peers.Send. It does not block.
func (s *System) Receive(from string, message []byte) {
	if s.o.Peers == nil {
		return
	}
	l, err := decodeLetter(message)
	if err != nil {
		s.log.Warn("a member's message cannot be read", "member", from, "error", err)
		return
	}
	// Wakes take no way through actors: they are what listeners wait for.
	for _, k := range s.exchange.woken(from, l.Wake) {
		s.wake(k.db, k.shard)
	}
	wake, changed := s.exchange.answered(s.now(), from, l)
	for _, k := range wake {
		s.wake(k.db, k.shard)
	}
	for _, k := range changed {
		s.toDatabases(listenersChanged{k.db})
	}
	if len(l.Follow) > 0 || len(l.Unfollow) > 0 {
		s.toExchange(letterCame{from, l})
	}
}

// wake wakes the listeners of a shard: those of this node, and by one message each the nodes that follow it here.
func (s *System) wake(db Database, shard layer.ShardID) {
	for member, st := range s.hub.wake(db, shard) {
		s.o.Peers.Send(member, (&letter{Wake: []standing{st}}).encode())
	}
	s.figures.woke(1)
}

// send sends letters.
func (s *System) send(list []mail) {
	for _, m := range list {
		s.o.Peers.Send(m.to, m.encode())
	}
}

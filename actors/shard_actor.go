package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
)

// shardSpec is the actor of one shard on this node.
func (s *System) shardSpec(db Database, shard layer.ShardID) spec {
	k := shardKey{db, shard}
	return spec{
		kind: shardKind, name: string(shard),
		make: func() behavior {
			return &shardBehavior{
				wanted:    func() bool { return s.hub.audience(db, shard) != nil },
				elsewhere: func() (string, bool) { return s.elsewhere(k) },
				listeners: func() int {
					_, n, _ := s.hub.figures(db, shard)
					return n
				},
				patience: s.o.Beat / 3, linger: s.o.Linger, backoff: newBackoff(10*time.Millisecond, time.Second),
			}
		},
		live: func(facts any) any {
			f := facts.(ShardFacts)
			f.Node = s.Owner(db, shard)
			f.Followers, f.Listeners, f.Wakes = s.hub.figures(db, shard)
			return f
		},
		perform: func(sh *shell, e effect) { s.performShard(sh, k, e) },
		ended:   func() { s.vouch(k, vouchNothing, nil) },
	}
}

// elsewhere is the node to follow for a shard, and whether it can be relied on; empty where this node is to watch.
func (s *System) elsewhere(k shardKey) (owner string, covered bool) {
	if s.o.Peers == nil || s.hub.followers(k.db, k.shard) > 0 {
		return "", false
	}
	if owner = s.Owner(k.db, k.shard); owner == s.o.Node {
		return "", false
	}
	return owner, s.exchange.covered(s.now(), k, owner)
}

func (s *System) performShard(sh *shell, k shardKey, e effect) {
	switch e := e.(type) {
	case arm:
		sh.do(func(ctx context.Context) any {
			w, seen, err := k.db.WatchShard(ctx, k.shard)
			if err != nil {
				return watchArmed{epoch: e.epoch, err: err}
			}
			return watchArmed{epoch: e.epoch, watch: s.hold(ctx, w), seen: seen}
		})
	case await:
		sh.do(func(ctx context.Context) any {
			defer e.watch.Cancel()
			select {
			case <-ctx.Done():
				return nil
			case <-released(e.watch):
				return nil
			case <-e.watch.Done():
				return watchFired{e.epoch, e.watch.Err()}
			}
		})
	case dropWatch:
		e.watch.Cancel()
	case wakeThem:
		s.wake(k.db, k.shard)
	case follow:
		s.send(s.exchange.follow(s.now(), k, e.owner))
		s.toExchange(beatAgain{})
	case unfollow:
		s.send(s.exchange.unfollow(k))
	case vouch:
		s.vouch(k, e.vouching, sh.rec)
	}
}

// vouch notes whether the actor of a shard watches, and tells those who follow it here.
func (s *System) vouch(k shardKey, v vouching, by *record) {
	for member, l := range s.hub.vouch(k.db, k.shard, v, by, s.now()) {
		s.o.Peers.Send(member, l.encode())
	}
}

package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
)

// shardSpec is the actor of one shard on this node.
func (f *feeds) shardSpec(db Database, shard layer.ShardID) spec {
	k := shardKey{db, shard}
	return spec{
		kind: shardKind, name: string(shard),
		make: func() behavior {
			return &shardBehavior{
				wanted:    func() bool { return f.hub.audience(db, shard) != nil },
				elsewhere: func() (string, bool) { return f.elsewhere(k) },
				listeners: func() int {
					_, n, _ := f.hub.figures(db, shard)
					return n
				},
				patience: f.beat / 3, linger: f.linger, backoff: newBackoff(10*time.Millisecond, time.Second),
			}
		},
		live: func(facts any) any {
			s := facts.(ShardFacts)
			s.Node = f.owner(db, shard)
			s.Followers, s.Listeners, s.Wakes = f.hub.figures(db, shard)
			return s
		},
		perform: func(sh *shell, e effect) { f.performShard(sh, k, e) },
		ended:   func() { f.vouch(k, vouchNothing, nil) },
	}
}

// elsewhere is the node to follow for a shard, and whether it can be relied on; empty where this node is to watch.
func (f *feeds) elsewhere(k shardKey) (owner string, covered bool) {
	if f.peers == nil || f.hub.followers(k.db, k.shard) > 0 {
		return "", false
	}
	if owner = f.owner(k.db, k.shard); owner == f.node {
		return "", false
	}
	return owner, f.exchange.covered(f.tree.now(), k, owner)
}

func (f *feeds) performShard(sh *shell, k shardKey, e effect) {
	switch e := e.(type) {
	case arm:
		sh.do(func(ctx context.Context) any {
			w, seen, err := k.db.WatchShard(ctx, k.shard)
			if err != nil {
				return watchArmed{epoch: e.epoch, err: err}
			}
			return watchArmed{epoch: e.epoch, watch: f.tree.hold(ctx, w), seen: seen}
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
		f.wake(k.db, k.shard)
	case follow:
		f.send(f.exchange.follow(f.tree.now(), k, e.owner))
		f.tree.tell(exchangeKey, beatAgain{})
	case unfollow:
		f.send(f.exchange.unfollow(k))
	case vouch:
		f.vouch(k, e.vouching, sh.busy)
	}
}

// vouch notes whether the actor of a shard watches, and tells those who follow it here.
func (f *feeds) vouch(k shardKey, v vouching, b busy) {
	for member, l := range f.hub.vouch(k.db, k.shard, v, b, f.tree.now()) {
		f.peers.Send(member, l.encode())
	}
}

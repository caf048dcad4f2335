package feeds

import (
	"context"
	"sync/atomic"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// shardSpec returns the actor of one shard on this node.
func (f *Feeds) shardSpec(db ports.Database, shard layer.ShardID) runtime.Spec {
	k := shardKey{db, shard}
	return runtime.Spec{
		Kind: ShardKind, Name: string(shard),
		Make: func() runtime.Behavior {
			return &shardBehavior{
				wanted:    func() bool { return f.hub.subscribers(db, shard) != nil },
				elsewhere: func() (string, bool) { return f.elsewhere(k) },
				listeners: func() int { return f.hub.counts(db, shard).listeners },
				ending:    f.ending.Load, patience: f.Beat / 3, linger: f.Linger,
				backoff: runtime.NewBackoff(minPause, maxPause),
			}
		},
		Live: func(facts any) any {
			s := facts.(ShardFacts)
			s.Node = f.Owner(db, shard)
			c := f.hub.counts(db, shard)
			s.Followers, s.Listeners, s.Upkeep, s.Wakes = c.followers, c.listeners-c.upkeep, c.upkeep, c.woken
			if !s.unsure.IsZero() {
				s.Lag = f.tree.Now().Sub(s.unsure).Seconds()
			}
			return s
		},
		Perform: func(sh *runtime.Shell, e runtime.Effect) { f.performShard(sh, k, e) },
		Ended:   func() { f.report(k, stateNone, nil) },

		Exhausted: func() { f.handOver(k) },
	}
}

// elsewhere returns the node to follow for a shard, and whether it can be relied on, or "" if this node should watch.
func (f *Feeds) elsewhere(k shardKey) (owner string, covered bool) {
	if f.Peers == nil || f.hub.followers(k.db, k.shard) > 0 {
		return "", false
	}
	if owner = f.Owner(k.db, k.shard); owner == f.Node {
		return "", false
	}
	return owner, f.exchange.covered(f.tree.Now(), k, owner)
}

func (f *Feeds) performShard(sh *runtime.Shell, k shardKey, e runtime.Effect) {
	switch e := e.(type) {
	case arm:
		sh.Do(func(ctx context.Context) any {
			w, seen, err := k.db.WatchShard(ctx, k.shard, func() { f.wake(k.db, k.shard) })
			if err != nil {
				f.Shortage.note(err, f.tree.Now())
				return watchArmed{epoch: e.epoch, err: err}
			}
			return watchArmed{epoch: e.epoch, watch: f.tree.Hold(ctx, shardWatch{w, &f.ending}), seen: seen}
		})
	case await:
		sh.Do(func(ctx context.Context) any {
			defer e.watch.Cancel()
			runtime.Take(e.watch)
			select {
			case <-ctx.Done():
				return nil
			case <-runtime.Released(e.watch):
				return nil
			case <-e.watch.Done():
				err := e.watch.Err()
				f.Shortage.note(err, f.tree.Now())
				return watchFired{e.epoch, err}
			}
		})
	case dropWatch:
		e.watch.Cancel()
	case wakeThem:
		f.wake(k.db, k.shard)
	case follow:
		noteNews(f, f.exchange.follow(k, e.owner))
	case unfollow:
		noteNews(f, f.exchange.unfollow(k))
	case report:
		f.report(k, e.watchState, sh.Busy)
	}
}

// shardWatch is a watch that is left to the store when the node ends (Feeds.Ending).
type shardWatch struct {
	kv.Watch
	ending *atomic.Bool
}

// Cancel releases the watch.
func (w shardWatch) Cancel() {
	if !w.ending.Load() {
		w.Watch.Cancel()
	}
}

// report records whether the actor of a shard watches, and tells its followers.
func (f *Feeds) report(k shardKey, v watchState, b busy) {
	for member, l := range f.hub.report(k.db, k.shard, v, b, f.tree.Now()) {
		f.Peers.Send(member, l.encode())
	}
}

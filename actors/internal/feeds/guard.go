package feeds

import (
	"time"
)

// The guard protects listeners that nothing is sure to wake. It is not an actor, because it is needed when actors fail,
// do not run or are stuck. For shards for which neither this node's actor nor another node can be relied on, it wakes
// this node's listeners every lookBeats, and they read the feed to check.

// lookBeats is the interval between these wake-ups, in beats.
const lookBeats = 2

// Guard runs until the tree ends.
func (f *Feeds) Guard() {
	tick := time.NewTicker(f.Beat / 2)
	defer tick.Stop()
	for {
		select {
		case <-f.tree.Running.Done():
			return
		case <-tick.C:
		}
		now := f.tree.Now()
		eachChanged(f, f.exchange.lapse(now))
		_, woken := f.hub.wakeUnheard(now, lookBeats*f.Beat, f.exchange.heard)
		f.wakes.Add(int64(woken))
	}
}

const (
	// guardedAtOnce is the minimum number of shards that the guard checks each time. If there are very many, it checks
	// one of guardRounds parts of them each time. Shards whose actors watch the store need it only if an actor hangs.
	guardedAtOnce = 256
	guardRounds   = 8
)

// wakeUnheard wakes listeners on this node that nothing has been sure to wake for some time. It checks the doubtful
// shards and the next ones in turn. elsewhere reports whether another node covers a shard. looked is how many shards
// were checked, and woken for how many of them listeners were woken.
func (h *hub) wakeUnheard(now time.Time, patience time.Duration,
	elsewhere func(now time.Time, k shardKey) bool) (looked, woken int) {
	h.eachPart(func(p *hubPart) {
		l, w := p.wakeUnheard(now, patience, elsewhere)
		looked, woken = looked+l, woken+w
	})
	return looked, woken
}

// wakeUnheard is that of the hub, for a part of it. The caller holds the lock.
func (p *hubPart) wakeUnheard(now time.Time, patience time.Duration,
	elsewhere func(now time.Time, k shardKey) bool) (looked, woken int) {
	look := func(a *subscribers) {
		looked++
		sure, woke := a.look(now, patience, elsewhere)
		if woke {
			woken++
		}
		if sure {
			delete(p.doubtful, a)
		} else {
			p.doubtful[a] = struct{}{}
		}
	}
	for a := range p.doubtful {
		look(a)
	}
	all := len(p.round)
	for range min(all, max(guardedAtOnce/hubParts, all/guardRounds)) {
		p.next = (p.next + 1) % all
		look(p.round[p.next])
	}
	return looked, woken
}

// look wakes the listeners of one shard if it is time to. sure means that something else will wake them, until further
// notice or until the shard's actor hangs.
func (a *subscribers) look(now time.Time, patience time.Duration,
	elsewhere func(time.Time, shardKey) bool) (sure, woke bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.listeners) == 0:
		a.unheard = time.Time{}
		return true, false
	case a.reliable(now):
		a.unheard = time.Time{}
		return a.unsureSince.IsZero(), false
	case elsewhere(now, a.key):
		a.unheard = time.Time{}
	case a.unheard.IsZero():
		a.unheard = now
	case now.Sub(a.unheard) >= patience:
		a.unheard = now
		a.wakeListeners()
		return false, true
	}
	return false, false
}

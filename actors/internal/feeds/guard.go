package feeds

import (
	"time"
)

// The guard looks after listeners whom nothing is sure to wake. It is no actor: it is there for the time when actors
// fail, do not run or are stuck. Where neither this node's actor of a shard nor another node can be relied on, it wakes
// the listeners of this node every lookBeats, and they look for themselves.

// lookBeats is how often that is, in beats.
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
		for _, k := range f.exchange.lapse(now) {
			f.Changed(k.db)
		}
		_, woken := f.hub.wakeUnheard(now, lookBeats*f.Beat, f.exchange.heard)
		f.wakes.Add(int64(woken))
	}
}

const (
	// guardedAtOnce is how many shards the guard looks at each time at least, and guardRounds in how many times it
	// gets round all where there are more. Those whose shards' actors watch the store need it only when an actor hangs.
	guardedAtOnce = 256
	guardRounds   = 8
)

// wakeUnheard wakes the listeners of this node whom nothing has been sure to wake for a time: of the shards in
// doubt, and of the next ones of the round. elsewhere reports whether another node is. looked is how many shards it
// looked at, woken of how many it woke the listeners.
func (h *hub) wakeUnheard(now time.Time, patience time.Duration,
	elsewhere func(now time.Time, k shardKey) bool) (looked, woken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	look := func(a *subscribers) {
		looked++
		sure, woke := a.look(now, patience, elsewhere)
		if woke {
			woken++
		}
		if sure {
			delete(h.mu.doubtful, a)
		} else {
			h.mu.doubtful[a] = struct{}{}
		}
	}
	for a := range h.mu.doubtful {
		look(a)
	}
	all := len(h.mu.round)
	for range min(all, max(guardedAtOnce, all/guardRounds)) {
		h.mu.next = (h.mu.next + 1) % all
		look(h.mu.round[h.mu.next])
	}
	return looked, woken
}

// look wakes the listeners of one shard where that is due. sure says that something is sure to wake them, until
// somebody says otherwise or the shard's actor hangs.
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

package actors

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The guard looks after listeners whose wakes nothing vouches for. It is no actor: it is there for the time when actors fail, do not run or are stuck. Where neither
// this node's actor of a shard nor another node can be relied on, it wakes the listeners of this node every lookBeats, and they look for themselves.

// lookBeats is how often that is, in beats.
const lookBeats = 2

// guard runs until the System stops.
func (s *System) guard() {
	tick := time.NewTicker(s.o.Beat / 2)
	defer tick.Stop()
	for {
		select {
		case <-s.running.Done():
			return
		case <-tick.C:
		}
		now := s.now()
		for _, k := range s.exchange.lapse(now) {
			s.toDatabases(listenersChanged{k.db})
		}
		_, woken := s.hub.wakeUnheard(now, lookBeats*s.o.Beat, s.exchange.heard)
		s.figures.woke(woken)
	}
}

const (
	// guardedAtOnce is how many audiences the guard looks at each time at least, and guardRounds in how many times it
	// gets round all where there are more. Those whose shards' actors watch the store need it only when an actor hangs.
	guardedAtOnce = 256
	guardRounds   = 8
)

// wakeUnheard wakes the listeners of this node whom nothing has been sure to wake for a time: of the audiences in
// doubt, and of the next ones of the round. elsewhere reports whether another node is. looked is how many audiences it
// looked at, woken of how many it woke the listeners.
func (h *hub) wakeUnheard(now time.Time, patience time.Duration,
	elsewhere func(now time.Time, k shardKey) bool) (looked, woken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	look := func(a *audience) {
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

// look wakes the listeners of one audience where that is due. sure says that something is sure to wake them, until
// somebody says otherwise or the shard's actor hangs.
func (a *audience) look(now time.Time, patience time.Duration,
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

// reaches reports whether the store has answered a question of this node that was asked within the last half of a beat. Where none was, it asks, and waits for the
// answer no longer than two beats. Watches go the same way as the question: where it is broken, who follows this node had better watch by itself.
func (s *System) reaches(ctx context.Context) bool {
	if last := s.reached.Load(); last != 0 && s.now().Sub(s.began)-time.Duration(last) < s.o.Beat/2 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lookBeats*s.o.Beat)
	defer cancel()
	_, err, _ := s.probes.Do("", func() (any, error) {
		asked := s.now().Sub(s.began)
		if err := s.store.Reach(ctx); err != nil {
			return nil, err
		}
		s.reached.Store(max(1, int64(asked)))
		return nil, nil
	})
	return err == nil
}

const (
	// failingFrom is how many failures within failureWindow make an actor a failing one.
	failingFrom = 3
	// stuckFrom is how long an actor may be at work on one message.
	stuckFrom = 10 * time.Second
	// maxReasons bounds the actors that Degraded names.
	maxReasons = 10
)

// Degraded says which actors fail again and again, or are stuck: "actor_failing: ...", by id; nil where all is well, as it is again a while after the last failure.
// It does no I/O.
func (s *System) Degraded() []string {
	var list []string
	now := s.now()
	s.tree.walk(func(r *record) {
		switch n, reason := r.failures(now); {
		case n >= failingFrom:
			list = append(list, fmt.Sprintf("actor_failing: %s has failed %d times within a minute (%s) and is started again each time; what it does comes late. "+
				"The log has the stack under \"actor failed\": please report it.", r.id, n, reason))
		case r.busy(now) > stuckFrom:
			list = append(list, fmt.Sprintf("actor_failing: %s has been busy with one message for %v; what it does comes late. Restart the node if this stays, and please report it.",
				r.id, r.busy(now).Truncate(time.Second)))
		}
	})
	list = append(list, s.compactions.degraded()...)
	slices.Sort(list)
	if more := len(list) - maxReasons; more > 0 {
		list = append(list[:maxReasons], fmt.Sprintf("actor_failing: %d more actors fail", more))
	}
	return list
}

// walk visits the records below r.
func (r *record) walk(visit func(*record)) {
	r.mu.Lock()
	children := make([]*record, 0, len(r.mu.children))
	for _, c := range r.mu.children {
		children = append(children, c)
	}
	r.mu.Unlock()
	for _, c := range children {
		visit(c)
		c.walk(visit)
	}
}

// failures is how often the actor has failed within failureWindow, and why it did last.
func (r *record) failures(now time.Time) (n int, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.mu.recent {
		if now.Sub(at) <= failureWindow {
			n++
		}
	}
	return n, r.mu.lastFailure
}

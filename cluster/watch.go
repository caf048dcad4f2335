package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// watch turns observations into topologies, until ctx ends.
func (c *Cluster) watch(ctx context.Context) {
	tick := time.NewTicker(c.o.ProbeInterval)
	defer tick.Stop()
	settle := time.NewTimer(debounce)
	defer settle.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			settle.Reset(debounce)
		case <-settle.C:
			c.tellStale()
			c.renewIfGivenUp()
			c.tellElsewheres()
			c.publish()
			select {
			case c.namesakes <- struct{}{}:
			default: // it is asked for already
			}
		case <-tick.C:
			// A process that stood still (stopped, swapped out, a laptop's lid) for longer than others wait was given up by them.
			if pause := time.Since(last); pause > 8*c.o.ProbeInterval {
				c.o.Logger.Warn("this process stood still and was probably given up by the others", "seconds", pause.Seconds())
				c.mu.Lock()
				c.mu.renew = true
				c.mu.Unlock()
				c.signal()
			}
			last = time.Now()
		}
	}
}

// publish makes the present members the topology, and tells who wants to know, if it is another one.
func (c *Cluster) publish() {
	before := *c.placed.Load()
	c.mu.Lock()
	after := c.mu.view.placeable()
	subscribers := make([]chan struct{}, 0, len(c.mu.subscribers))
	for ch := range c.mu.subscribers {
		subscribers = append(subscribers, ch)
	}
	c.mu.Unlock()
	if sameMembers(before, after) {
		return
	}
	c.placed.Store(&after)
	names := make([]string, len(after))
	for i, m := range after {
		names[i] = m.Name
	}
	c.o.Logger.Info("members changed", "members", names)
	provider{c}.publish(before, after)
	for _, ch := range subscribers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// tellStale tells members that came back under their old id that they had been given up. Their answer is a new id.
func (c *Cluster) tellStale() {
	c.mu.Lock()
	list := c.mu.stale
	c.mu.stale = nil
	c.mu.Unlock()
	for _, s := range list {
		message, err := json.Marshal(givenUp{ID: s.id})
		if err != nil {
			panic(err) // one string
		}
		if err := c.gossip.SendReliable(&s.node, message); err != nil {
			// It will be seen as lost and come back once more, or another member tells it.
			c.o.Logger.Debug("could not tell a member that it was given up", "member", s.node.Name, "error", err)
		}
	}
}

// renewIfGivenUp takes a new id: the others have started this member's actors elsewhere and closed their connections to the old id.
func (c *Cluster) renewIfGivenUp() {
	c.mu.Lock()
	renew := c.mu.renew
	c.mu.renew = false
	if renew {
		c.mu.meta.ID = newID()
	}
	c.mu.Unlock()
	if !renew {
		return
	}
	c.o.Logger.Warn("the other members had given this one up; it goes on under a new id")
	if err := c.gossip.UpdateNode(time.Second); err != nil {
		c.o.Logger.Warn("tell the others the new id", "error", err)
	}
}

// keepJoining calls members that should be there and are not: those of the join list never seen, and those lost to a network that may
// heal, since two halves of a split cluster do not look for each other by themselves.
func (c *Cluster) keepJoining(ctx context.Context, joined bool) {
	pause := rejoinEvery
	if !joined {
		pause = firstRejoin
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if c.tryJoin(ctx) {
				pause = rejoinEvery
			} else {
				pause = min(2*pause, rejoinEvery)
			}
			timer.Reset(pause)
		}
	}
}

// tryJoin calls everybody missing, one after the other, and reports whether none is missing any more. Each call takes at most a second.
func (c *Cluster) tryJoin(ctx context.Context) bool {
	self := c.Addr()
	c.mu.Lock()
	var missing []string
	known := map[string]bool{} // of those: members that were up once
	for _, address := range c.o.Join {
		at, err := resolve(address)
		if err == nil && (at.String() == self || c.mu.view.knows(at.String())) {
			continue
		}
		missing = append(missing, address)
		known[address] = err == nil && c.mu.view.seen(at.String())
	}
	for _, address := range c.mu.view.lost(time.Now()) {
		missing = append(missing, address)
		known[address] = true
	}
	for address := range c.mu.failing {
		if !slices.Contains(missing, address) {
			delete(c.mu.failing, address)
		}
	}
	c.mu.Unlock()
	complete := true
	for _, address := range missing {
		if ctx.Err() != nil {
			return false
		}
		_, err := c.gossip.Join([]string{address})
		complete = complete && err == nil
		c.joined(address, known[address], err)
	}
	return complete
}

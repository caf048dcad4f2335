package cluster

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// overdue returns the gossip addresses, by name, of the members that should have answered one of memberlist's probes by
// now.
func (v *view) overdue(now time.Time) map[string]string {
	patience, found := v.patience(now), map[string]string{}
	for name, e := range v.entries {
		if name != v.self && e.up && !e.suspected && e.silentFor(now) > patience {
			found[name] = e.gossip
		}
	}
	return found
}

// askOverdue asks the members that are overdue until ctx ends: each several times before it becomes a suspect, unless
// it answers. memberlist may not have asked it: it takes up to four times as long for each probe after some have
// failed, and probes one member after the other. A member that has restarted while another one is dead waits for that
// long.
func (g *gossip) askOverdue(ctx context.Context) {
	tick := time.NewTicker(g.o.ProbeInterval / 4)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var overdue map[string]string
		g.members.ask(func(v *view) { overdue = v.overdue(time.Now()) })
		for name, gossip := range overdue {
			at, err := netip.ParseAddrPort(gossip)
			if err != nil {
				continue
			}
			asking.Go(func() {
				if _, err := g.list.Ping(name, net.UDPAddrFromAddrPort(at)); err == nil {
					g.members.observe(func(v *view, now time.Time) { v.reached(now, name) })
				}
			})
		}
		asking.Wait() // at most half an interval
	}
}

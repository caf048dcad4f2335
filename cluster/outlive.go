package cluster

import (
	"context"
	"slices"
	"time"
)

// A member that the others give up while it lives returns under its old id. The others have started its actors
// elsewhere and closed their connections to that id, so it needs a new one. They tell it, it tells them the new id, and
// each of them repeats its part until it sees that the other one has heard it: single packets of gossip are lost, and
// memberlist's next exchange of everything may be many seconds away.

// staleMember returned without knowing that it had been given up.
type staleMember struct {
	name, address string
	id            string // under which it was given up
	warned        bool
}

// outlive tells members that they had been given up, renews this member's id if it was, meets newcomers, and checks
// whether members have left that are said to, until ctx ends. All of that waits for the network, so it has a goroutine
// of its own.
func (g *gossip) outlive(ctx context.Context) {
	tick := time.NewTicker(g.o.ProbeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.members.outlive:
		case <-tick.C:
		}
		g.renewIfGivenUp()
		g.warnStale(ctx)
		g.meet(ctx)
		g.checkLeft(ctx)
	}
}

// newcomer is a member that has begun to be seen here, has a new id, is doubted, or answers as another run than the one
// that is known.
type newcomer struct {
	name, address, id string
	met, tried        int
}

const (
	// meetings is how often everything is exchanged with a newcomer: once to hear what it believes of this member, and
	// once to tell it what follows from that.
	meetings = 2
	// mostTries bounds how often that is tried.
	mostTries = 8
)

// meet exchanges everything with newcomers. A member that begins a new life counts its announcements from the start. A
// member that has heard more than others of the life before takes the first of them for old ones, and nobody else
// contradicts it. It finds out only when the two exchange what they know, which memberlist does by chance.
func (g *gossip) meet(ctx context.Context) {
	m := g.members
	var again []newcomer
	for _, n := range m.takeNewcomers() {
		if ctx.Err() != nil {
			return
		}
		n.tried++
		if err := g.join(n.address); err == nil {
			n.met++
			m.observe(func(v *view, now time.Time) { v.reached(now, n.name) })
		} else {
			g.o.Logger.Debug("could not exchange what is known with a member", "member", n.name, "error", err)
		}
		if n.met < meetings && n.tried < mostTries {
			again = append(again, n)
		}
	}
	m.ask(func(*view) { m.mu.newcomers = append(m.mu.newcomers, again...) })
}

// meets lets everything be exchanged with a member, under the id that is known of it, unless that is to be done
// already. The caller holds mu.
func (m *members) meets(name, address string) {
	n := newcomer{name: name, address: address, id: m.mu.view.entries[name].meta.ID}
	if !slices.Contains(m.mu.newcomers, n) {
		m.mu.newcomers = append(m.mu.newcomers, n)
	}
	m.signalOutlive()
}

// takeNewcomers takes the newcomers that are still there.
func (m *members) takeNewcomers() []newcomer {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(m.mu.newcomers, func(n newcomer) bool {
		e := m.mu.view.entries[n.name]
		return e == nil || !e.up || e.meta.ID != n.id
	})
	m.mu.newcomers = nil
	return list
}

// saw records that memberlist reports a member, and whether it is to be told that it had been given up. The caller
// holds mu.
func (m *members) saw(name, address string, meta metadata, now time.Time) {
	before := ""
	if e := m.mu.view.entries[name]; e != nil && e.up {
		before = e.meta.ID
	}
	if m.mu.view.joined(now, name, address, meta) {
		m.mu.stale = append(m.mu.stale, staleMember{name: name, address: address, id: meta.ID})
	}
	if name != m.name && before != meta.ID {
		m.meets(name, address)
	}
	m.signalOutlive()
}

// warnStale tells members that returned under their old id that they had been given up. Those that have been warned and
// are still seen under that id are asked for their state, in case they have a new one.
func (g *gossip) warnStale(ctx context.Context) {
	for _, s := range g.members.takeStale() {
		if s.warned {
			if err := g.join(s.address); err != nil {
				g.o.Logger.Debug("could not ask a member for its new id", "member", s.name, "error", err)
			}
		}
		if !g.members.isStale(s) {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		err := g.send(s.address, notice{GivenUp: s.id})
		if err != nil {
			g.o.Logger.Debug("could not tell a member that it had been given up", "member", s.name, "error", err)
		}
		s.warned = s.warned || err == nil
		g.members.keepStale(s)
	}
}

// renewIfGivenUp takes a new id if the others have given this member up, and announces it.
func (g *gossip) renewIfGivenUp() {
	renewed, announced := g.members.takeNewID()
	if renewed {
		g.o.Logger.Warn("the other members had given this one up; it goes on under a new id")
	}
	if announced {
		return
	}
	if err := g.list.UpdateNode(time.Second); err != nil {
		g.o.Logger.Debug("could not tell the others what has changed here", "error", err)
	}
}

// takeStale takes the members that are still to be warned.
func (m *members) takeStale() []staleMember {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.mu.stale
	m.mu.stale = nil
	return list
}

// keepStale keeps a member for the next round.
func (m *members) keepStale(s staleMember) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.stale = append(m.mu.stale, s)
}

// isStale reports whether a member is still there under the id under which it was given up.
func (m *members) isStale(s staleMember) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.mu.view.entries[s.name]
	return e != nil && e.up && e.meta.ID == s.id && !e.meta.announcesLeave()
}

// givenUp records that the others have given this member up, or probably have.
func (m *members) givenUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renews()
}

// renews makes this member take a new id. The caller holds mu.
func (m *members) renews() {
	m.mu.renew = true
	m.signalOutlive()
}

// signalOutlive wakes gossip.outlive.
func (m *members) signalOutlive() {
	select {
	case m.outlive <- struct{}{}:
	default:
	}
}

// takeNewID gives this member a new id if the others have given it up. announced reports whether memberlist has taken
// over this member's metadata: it drops an announcement if, at the same moment, this member contradicts
// others that suspect it.
func (m *members) takeNewID() (renew, announced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	renew, m.mu.renew = m.mu.renew, false
	if renew {
		m.mu.meta.ID = renewed(m.mu.meta.ID)
	}
	return renew, m.mu.view.published(m.mu.meta)
}

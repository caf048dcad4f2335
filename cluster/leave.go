package cluster

import (
	"sync"
	"time"
)

// Drain lets the other members take over the actors that are placed on this one, which remains a member and sends and
// receives messages until Stop. There is no way back. Drain does not block: the others hear of it within some 0.3 s.
func (c *Cluster) Drain() { c.gossip.drain(true) }

// AnnounceLeave is Drain for a member that is about to leave: if the others hear nothing more of it, they do not take
// that for a failure. Stop announces it too, but a member that has done it before need not rely on its last packets.
func (c *Cluster) AnnounceLeave() { c.gossip.drain(false) }

func (g *gossip) drain(stays bool) {
	g.members.leaving(stays)
	g.announce()
}

// announce hands this member's metadata to gossip if it has changed. It does not wait until that was sent as often as
// memberlist wants, which never happens once the others have left.
//
// The same metadata must not be announced twice, because of a fault of memberlist 0.7.0 (its pull request 263): when an
// announcement replaces the only one in its queue, the next one of the same length may overwrite it, such as one of
// another member that leaves too. The others then do not hear that this member leaves, and take it for dead. Without
// that fault the check is not needed.
func (g *gossip) announce() {
	meta := g.members.metadata()
	published := false
	if g.members.ask(func(v *view) { published = v.published(meta) }); !published {
		_ = g.list.UpdateNode(time.Nanosecond)
	}
}

// leave announces that the member leaves and ends gossip. It takes some 0.3 s if there are other members, and a second
// longer if one of them cannot be reached. It does not wait once no one is left to hear it, so that nodes that stop
// together do not wait for each other.
func (g *gossip) leave() error {
	// Leave placement first, then membership, so that no new actors are placed here meanwhile.
	g.drain(false)
	g.waitForPackets()
	_ = g.list.Leave(time.Nanosecond)
	notices := g.tellLeft()
	g.waitForPackets()
	notices.Wait()
	return g.shutdown()
}

// tellLeft tells each other member over a connection that this one has left, since packets of gossip are lost, and
// those that carry it on may leave too. It returns at once: notices is done when all have been told, after at most a
// second.
func (g *gossip) tellLeft() (notices *sync.WaitGroup) {
	notices = &sync.WaitGroup{}
	note := notice{Left: g.members.metadata().ID, Up: upFor(g.o.Began)}
	var others []string
	g.members.ask(func(v *view) { others = v.addresses() })
	for _, address := range others {
		notices.Go(func() {
			if err := g.send(address, note); err != nil {
				g.o.Logger.Debug("could not tell a member that this one leaves", "address", address, "error", err)
			}
		})
	}
	return notices
}

// shutdown ends gossip without announcing it.
func (g *gossip) shutdown() error {
	g.ending.Store(true)
	return g.list.Shutdown()
}

// packetsEach is how many gossip packets per other member carry an announcement of a leaving member. Members that
// receive it pass it on.
const packetsEach = 2

// waitForPackets waits until gossip has sent an announcement often enough, for a limited time and only while there are
// other members. It uses the channel that wakes Cluster.watch, which must have ended.
func (g *gossip) waitForPackets() {
	limit := time.NewTimer(g.announceWithin)
	defer limit.Stop()
	before, _ := g.members.sent()
	for {
		now, others := g.members.sent()
		if now-before >= packetsEach*others {
			return
		}
		select {
		case <-limit.C:
			return // they will notice by themselves
		case <-g.members.wake:
		}
	}
}

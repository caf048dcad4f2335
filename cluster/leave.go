package cluster

import "time"

// Drain lets the other members take over the actors that are placed on this one, which remains a member and sends and
// receives messages until Stop. There is no way back. Drain does not block: the others hear of it within some 0.3 s.
func (c *Cluster) Drain() { c.gossip.drain(true) }

// AnnounceLeave is Drain for a member that is about to leave: if the others hear nothing more of it, they do not take
// that for a failure. Stop announces it too, but a member that has done it before need not rely on its last packets.
func (c *Cluster) AnnounceLeave() { c.gossip.drain(false) }

func (g *gossip) drain(stays bool) {
	g.members.leaving(stays)
	_ = g.list.UpdateNode(time.Nanosecond) // see leave
}

// leave announces that the member leaves and ends gossip. It takes some 0.3 s if there are other members. It does not
// wait once no one is left to hear it, so that nodes that stop together do not wait for each other.
func (g *gossip) leave() error {
	g.members.leaving(false)
	// Leave placement first, then membership, so that no new actors are placed here meanwhile. Both calls only hand the
	// message to gossip. They would wait until it was sent as often as memberlist wants, which never happens once the
	// others have left too.
	_ = g.list.UpdateNode(time.Nanosecond)
	g.tell()
	_ = g.list.Leave(time.Nanosecond)
	g.tell()
	return g.shutdown()
}

// shutdown ends gossip without announcing it.
func (g *gossip) shutdown() error {
	g.ending.Store(true)
	return g.list.Shutdown()
}

// tellTwice is how many gossip packets per other member carry the message of a leaving member. Members that receive it
// pass it on.
const tellTwice = 2

// tell waits until gossip has sent its messages, for a limited time and only while there are other members. It uses the
// channel that wakes Cluster.watch, which must have ended.
func (g *gossip) tell() {
	limit := time.NewTimer(g.tellWithin)
	defer limit.Stop()
	before, _ := g.members.sent()
	for {
		now, others := g.members.sent()
		if now-before >= tellTwice*others {
			return
		}
		select {
		case <-limit.C:
			return // they will notice by themselves
		case <-g.members.wake:
		}
	}
}

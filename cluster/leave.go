package cluster

import "time"

// leave says goodbye and ends gossip. It takes some 0.3 s in company, nothing alone, and no longer than there is
// somebody to hear: nodes that stop together do not wait for each other.
func (g *gossip) leave() error {
	g.members.leaving()
	// First out of placement, then out of the membership: nobody sends a new actor here meanwhile. Both functions only
	// pass the message on to gossip. They would wait until it has been sent as often as memberlist wants, which never
	// comes once the others have left too.
	_ = g.list.UpdateNode(time.Nanosecond)
	g.tell()
	_ = g.list.Leave(time.Nanosecond)
	g.tell()
	return g.shutdown()
}

// shutdown ends gossip without a word.
func (g *gossip) shutdown() error {
	g.ending.Store(true)
	return g.list.Shutdown()
}

// tellTwice is how many packets of gossip for each other member a message of a member that leaves goes into; a member
// who hears of it passes it on.
const tellTwice = 2

// tell waits until what gossip has to say has been sent, for some time and only as long as there are others. It needs
// what Cluster.watch was woken by, which must have ended.
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
			return // they find out by themselves
		case <-g.members.wake:
		}
	}
}

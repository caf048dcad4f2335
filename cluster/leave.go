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

// announce hands what has changed in this member's metadata to gossip, once: if the queue of memberlist has only a
// message and that is replaced, the next one of the same length overwrites the new one (its pull request 263), such as
// that of another member that leaves too. It does not wait until the message was sent as often as memberlist wants,
// which never happens once the others have left.
func (g *gossip) announce() {
	meta := g.members.told()
	announced := false
	if g.members.ask(func(v *view) { announced = v.tells(meta) }); !announced {
		_ = g.list.UpdateNode(time.Nanosecond)
	}
}

// leave announces that the member leaves and ends gossip. It takes some 0.3 s if there are other members. It does not
// wait once no one is left to hear it, so that nodes that stop together do not wait for each other.
func (g *gossip) leave() error {
	// Leave placement first, then membership, so that no new actors are placed here meanwhile.
	g.drain(false)
	g.tell()
	_ = g.list.Leave(time.Nanosecond)
	told := g.tellLeft()
	g.tell()
	told.Wait()
	return g.shutdown()
}

// tellLeft tells each other member over a connection that this one has left, since packets of gossip are lost, and
// those that carry it on may leave too. It returns at once. Each member takes at most a second.
func (g *gossip) tellLeft() (told *sync.WaitGroup) {
	told = &sync.WaitGroup{}
	note := notice{Left: g.members.told().ID}
	var others []string
	g.members.ask(func(v *view) { others = v.addresses() })
	for _, address := range others {
		told.Go(func() {
			if err := g.send(address, note); err != nil {
				g.o.Logger.Debug("could not tell a member that this one leaves", "address", address, "error", err)
			}
		})
	}
	return told
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

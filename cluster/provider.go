package cluster

import (
	"errors"
	"fmt"
	"time"

	pcluster "github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/hashicorp/memberlist"
)

// provider is protoactor's cluster provider over memberlist.
//
// It is driven by Start and Stop of this package, not by protoactor's StartMember and Shutdown, which sleep for 1 s and 2 s, panic on errors, and
// run a second gossip beside memberlist's. Nor does it feed protoactor's MemberList, which blocks a member's id for ever
// once it was seen as left and is read without its lock: the topology goes to the event stream, where the rest of protoactor listens, and
// placement asks this package.
type provider struct{ c *Cluster }

var _ pcluster.ClusterProvider = provider{}

// StartMember begins to gossip. A member alone in its cluster is up when it returns.
func (p provider) StartMember(*pcluster.Cluster) error {
	c := p.c
	conf, err := c.gossipConfig(c.transport)
	if err != nil {
		return err
	}
	if n := len(c.encodeMetadata()); n > memberlist.MetaMaxSize {
		return fmt.Errorf("cluster: addresses, version and roles take %d bytes in gossip, at most %d fit", n, memberlist.MetaMaxSize)
	}
	if c.gossip, err = memberlist.Create(conf); err != nil {
		return fmt.Errorf("cluster: gossip: %w", err)
	}
	return nil
}

// StartClient refuses: every node of Divan is a member.
func (p provider) StartClient(*pcluster.Cluster) error {
	return errors.New("cluster: nodes are members, never clients")
}

// Shutdown leaves the cluster; gracefully says goodbye first, so that the others need not find out. It takes some 0.3 s in company, nothing alone, and no longer than
// there is somebody to hear: nodes that stop together do not wait for each other.
func (p provider) Shutdown(graceful bool) error {
	c := p.c
	if graceful {
		c.mu.Lock()
		c.mu.meta.Leaving = true
		c.mu.Unlock()
		// First out of placement, then out of the membership: nobody sends a new actor here meanwhile. Both functions only pass the message on to gossip. They
		// would wait until it has been sent as often as memberlist wants, which never comes once the others have left too.
		_ = c.gossip.UpdateNode(time.Nanosecond)
		c.tell()
		_ = c.gossip.Leave(time.Nanosecond)
		c.tell()
	}
	c.ending.Store(true)
	return c.gossip.Shutdown()
}

// tellTwice is how many packets of gossip for each other member a message of a member that leaves goes into; a member who hears of it passes it on.
const tellTwice = 2

// tell waits until what gossip has to say has been sent, for some time and only as long as there are others. It needs what watch was woken by, which must have ended.
func (c *Cluster) tell() {
	limit := time.NewTimer(c.tellWithin)
	defer limit.Stop()
	c.mu.Lock()
	before := c.mu.packets
	c.mu.Unlock()
	for {
		c.mu.Lock()
		sent, others := c.mu.packets-before, c.mu.view.others()
		c.mu.Unlock()
		if sent >= tellTwice*others {
			return
		}
		select {
		case <-limit.C:
			return // they find out by themselves
		case <-c.wake:
		}
	}
}

// publish tells protoactor about a new topology: cached process ids of members that left are dropped, and connections to them closed, so that
// who watches or waits for an actor there hears of it.
func (p provider) publish(before, after []Member) {
	topology := &pcluster.ClusterTopology{}
	known := map[string]bool{}
	for _, m := range before {
		known[m.ID] = true
	}
	now := map[string]bool{}
	for _, m := range after {
		now[m.ID] = true
		pm := protoMember(m)
		topology.Members = append(topology.Members, pm)
		if !known[m.ID] {
			topology.Joined = append(topology.Joined, pm)
		}
	}
	for _, m := range before {
		if !now[m.ID] {
			topology.Left = append(topology.Left, protoMember(m))
		}
	}
	topology.TopologyHash = pcluster.TopologyHash(topology.Members)
	events := p.c.o.System.EventStream
	for _, m := range before {
		if !now[m.ID] && !m.Self {
			events.Publish(&remote.EndpointTerminatedEvent{Address: m.Remote})
		}
	}
	events.Publish(topology)
}

func protoMember(m Member) *pcluster.Member {
	pm := &pcluster.Member{Id: m.ID}
	if a, err := resolve(m.Remote); err == nil {
		pm.Host, pm.Port = a.IP.String(), int32(a.Port)
	}
	return pm
}

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// gossipLabel separates this cluster's gossip from that of other programs.
const gossipLabel = "divan"

// gossip is memberlist: its ports, settings and callbacks.
type gossip struct {
	o              *Options
	members        *members
	said           *said
	advertise      net.IP
	transport      Transport
	list           *memberlist.Memberlist
	ending         atomic.Bool                // shutting down
	announceWithin time.Duration              // how long each of the two announcements of leaving may take
	stranger       func(from string)          // called for a node with another secret
	namesake       func(gossip, store string) // called for another member with this one's name; must not block
	refused        func(at netip.AddrPort)    // called for one that does not start because of that; must not block

	clash func(name string, at netip.AddrPort) // called when a node says that another one has its name; must not block
}

// listen opens the gossip port.
func (g *gossip) listen(at *net.TCPAddr) (err error) {
	if g.transport, err = g.openTransport(at); err != nil {
		return err
	}
	g.advertise, _, err = g.transport.FinalAdvertiseAddr(g.o.Advertise, g.transport.GetAutoBindPort())
	if err != nil {
		return errors.Join(fmt.Errorf("cluster: find the address to advertise: %w", err), g.transport.Shutdown())
	}
	return nil
}

// addr returns the gossip address, with the port that was picked.
func (g *gossip) addr() string {
	return (&net.TCPAddr{IP: g.advertise, Port: g.transport.GetAutoBindPort()}).String()
}

// start begins to gossip. If the member is alone in its cluster, it is up when start returns.
func (g *gossip) start() error {
	conf, err := g.config()
	if err != nil {
		return err
	}
	if n := len(encodeMetadata(g.members.metadata())); n > memberlist.MetaMaxSize {
		return fmt.Errorf("cluster: addresses, version and roles take %d bytes in gossip, at most %d fit", n,
			memberlist.MetaMaxSize)
	}
	if g.list, err = memberlist.Create(conf); err != nil {
		return fmt.Errorf("cluster: gossip: %w", err)
	}
	return nil
}

// join contacts a member.
func (g *gossip) join(address string) error {
	_, err := g.list.Join([]string{address})
	return err
}

// openTransport opens the gossip port before memberlist runs, because the next port must be known for the metadata. A
// free port must be free for both UDP and TCP, hence the attempts.
func (g *gossip) openTransport(at *net.TCPAddr) (Transport, error) {
	if g.o.Network != nil {
		return g.o.Network.OpenGossip(at)
	}
	attempts := 1
	if at.Port == 0 {
		attempts = 10
	}
	var err error
	for range attempts {
		var t *memberlist.NetTransport
		t, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{
			BindAddrs: []string{at.IP.String()},
			BindPort:  at.Port,
			Logger:    g.logger(),
		})
		if err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("cluster: gossip on %s: %w", at, err)
}

// config configures memberlist. Its local profile shows a killed member as alive for 7 s. This one gives it up after 2
// to 4 s, at the cost of two small packets per second and member.
func (g *gossip) config() (*memberlist.Config, error) {
	conf := memberlist.DefaultLANConfig()
	conf.Name = g.o.Name
	conf.Transport = g.transport
	conf.Label = gossipLabel
	conf.AdvertiseAddr = g.advertise.String()
	conf.AdvertisePort = g.transport.GetAutoBindPort()
	conf.BindPort = g.transport.GetAutoBindPort() // default port for addresses in the join list
	conf.Logger = g.logger()
	conf.Delegate = delegate{g}
	conf.Events = delegate{g}
	conf.Ping = delegate{g}
	conf.Conflict = delegate{g}

	conf.ProbeInterval = g.o.ProbeInterval
	conf.ProbeTimeout = g.o.ProbeInterval / 2
	conf.SuspicionMult = 3
	conf.SuspicionMaxTimeoutMult = 2
	conf.AwarenessMaxMultiplier = 4
	conf.IndirectChecks = 2
	conf.GossipInterval = min(100*time.Millisecond, g.o.ProbeInterval/2)
	conf.EnableCompression = false // of packets of some hundred bytes; members that compress are still understood
	conf.PushPullInterval = 10 * g.o.ProbeInterval
	conf.TCPTimeout = time.Second
	// A killed member may return on another port immediately.
	conf.DeadNodeReclaimTime = time.Millisecond
	if g.o.Secret != "" {
		keys, err := gossipKeys(g.o.Secret, g.o.AcceptSecrets)
		if err != nil {
			return nil, fmt.Errorf("cluster: derive the gossip key: %w", err)
		}
		conf.Keyring = keys
	}
	return conf, nil
}

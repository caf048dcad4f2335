package cluster

import (
	"net"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/memberlist"
)

// Network is what a member needs to reach others. Simulations implement it in memory (package simnet).
type Network interface {
	// OpenGossip opens the member's gossip port at an address. A port of 0 picks a free one.
	OpenGossip(at *net.TCPAddr) (Transport, error)
	// OpenRemoting sets the address of an actor system, and sends its messages to processes with other addresses there,
	// until stop is called.
	OpenRemoting(system *actor.ActorSystem) (stop func(), err error)
}

// Transport carries gossip.
type Transport interface {
	memberlist.NodeAwareTransport
	// GetAutoBindPort returns the port that was opened.
	GetAutoBindPort() int
}

var _ Transport = (*memberlist.NetTransport)(nil)

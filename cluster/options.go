package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Options of Start.
type Options struct {
	// System is the actor system that remoting is set up on. Required, and no actor of it may run yet: remoting changes
	// the address that new process ids carry.
	System *actor.ActorSystem

	// Name of this member. Required, unique in the cluster, and the same again after a restart.
	Name string
	// Gossip is the address to listen on, UDP and TCP. Port 0 picks a free one. Required.
	Gossip string
	// Remote is the address of actor remoting, TCP. Empty: the port after Gossip's, or a free one where that is taken.
	Remote string
	// Advertise is the IP that other members reach this one by; needed only where Gossip's host is a wildcard and the
	// guess
	// (the first private address) is wrong.
	Advertise string
	// Join is gossip addresses of other members. It does not matter which of them are up now: joining goes on in the
	// background.
	Join []string
	// Secret, shared by all members, encrypts gossip and authenticates and encrypts remoting. Required unless Gossip is
	// on loopback.
	Secret string
	// AcceptSecrets are taken from others beside Secret, while it is being changed from one to the other. They need
	// Secret.
	AcceptSecrets []string
	// Store names the store that the member uses. Degraded names members that use another one, and they get no actors
	// from here. Empty: it does not matter.
	Store string
	// Claim, where not nil, is how the store decides which node has this member's name.
	Claim Claim

	// HTTP and SQL are the addresses that clients of this member use, told to the others.
	HTTP, SQL string
	// Version of the program and Roles of the member, told to the others.
	Version string
	Roles   []string

	// Receive takes what other members Send; calls come one at a time, and must not block for long. The message is the
	// callee's. nil takes nothing.
	Receive func(from string, message []byte)

	// ProbeInterval paces failure detection: a killed member is seen as left after 4 to 8 of them. 0 means 500 ms.
	ProbeInterval time.Duration
	// Logger for what an operator wants to know. nil means slog.Default.
	Logger *slog.Logger
}

// withDefaults validates and completes a copy. All faults are reported at once.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if o.System == nil {
		faults = append(faults, errors.New("no actor system"))
	}
	if o.Name == "" {
		faults = append(faults, errors.New("no name"))
	}
	if len(o.Name) > 128 {
		faults = append(faults, errors.New("name is longer than 128 bytes"))
	}
	gossip, err := resolve(o.Gossip)
	if err != nil {
		faults = append(faults, fmt.Errorf("gossip address %q: %w", o.Gossip, err))
	} else if !gossip.IP.IsLoopback() && o.Secret == "" {
		faults = append(faults, fmt.Errorf("gossip address %q is not on loopback, and there is no shared secret: "+
			"whoever reaches it could command the actors", o.Gossip))
	}
	if o.Secret == "" && len(o.AcceptSecrets) > 0 {
		faults = append(faults, errors.New("there are secrets to accept and none of this member's own"))
	}
	if slices.Contains(o.AcceptSecrets, "") {
		faults = append(faults, errors.New("a secret to accept is empty"))
	}
	if o.Advertise != "" && net.ParseIP(o.Advertise) == nil {
		faults = append(faults, fmt.Errorf("advertise address %q is not an IP address", o.Advertise))
	}
	if o.ProbeInterval == 0 {
		o.ProbeInterval = 500 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if len(faults) > 0 {
		return o, fmt.Errorf("cluster: %w", errors.Join(faults...))
	}
	return o, nil
}

// resolve turns host:port into an address with an IP; an empty host is the wildcard.
func resolve(address string) (*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	if host == "" {
		return &net.TCPAddr{IP: net.IPv4zero, Port: n}, nil
	}
	a, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return a, nil
}

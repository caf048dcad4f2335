package cluster

import (
	"context"
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
	// System is the actor system that remoting is set up on. It is required, and must not run any actors yet, because
	// remoting changes the address in new process ids.
	System *actor.ActorSystem

	// Name of this member. It is required, unique in the cluster, and the same after a restart.
	Name string
	// Gossip is the address to listen on, UDP and TCP. Port 0 picks a free one. Required.
	Gossip string
	// Remote is the address of actor remoting, TCP. Empty means the port after Gossip's, or a free one if that is
	// taken.
	Remote string
	// Advertise is the IP at which other members reach this one. It is only needed if Gossip's host is a wildcard and
	// the guess (the first private address) is wrong.
	Advertise string
	// Join lists gossip addresses of other members. They need not be up now: joining continues in the background.
	Join []string
	// Secret, shared by all members, encrypts gossip, and authenticates and encrypts remoting. It is required unless
	// Gossip is on loopback.
	Secret string
	// AcceptSecrets are accepted from others in addition to Secret, while it is being changed. They require Secret.
	AcceptSecrets []string
	// Store identifies the store that the member uses. Degraded reports members that use another one, and no actors are
	// placed on them. Empty means any store.
	Store string
	// Claim, if not nil, lets the store decide which node has this member's name.
	Claim Claim

	// HTTP and SQL are the addresses for clients of this member, which it tells the others.
	HTTP, SQL string
	// Version of the program and Roles of the member, which it tells the others.
	Version string
	Roles   []string
	// Began is when the program was started. Zero means when Start is called.
	Began time.Time

	// Receive is called for each message that other members Send, one at a time. It must not block for long. It may
	// keep the message. If Receive is nil, messages are dropped.
	Receive func(from string, message []byte)

	// Answer, if not nil, is called for each Request of other members, each in a goroutine of its own, and at most
	// maxAnswering at once. ctx ends when the other member no longer waits, or with the Cluster.
	Answer func(ctx context.Context, from string, request []byte) ([]byte, error)
	// Placed, if not nil, is called after each change of placement, with the members before and after it. It must not
	// block for long, and must not change them.
	Placed func(before, after []Member)
	// Notify, if not nil, is called for each event, in order. It must not block for long.
	Notify func(Event)

	// Network replaces the network, for simulations. nil means UDP and TCP.
	Network Network

	// ProbeInterval determines failure detection: a killed member is seen as left after 4 to 9 intervals. 0 means 500
	// ms.
	ProbeInterval time.Duration
	// Logger is the log for the operator. nil means slog.Default.
	Logger *slog.Logger
}

// longestName is the length in bytes of the longest name of a member, also of those that others tell of.
const longestName = 128

// withDefaults returns a validated copy with defaults. It reports all faults at once.
func (o Options) withDefaults() (Options, error) {
	var faults []error
	if o.System == nil {
		faults = append(faults, errors.New("no actor system"))
	}
	if o.Name == "" {
		faults = append(faults, errors.New("no name"))
	}
	if len(o.Name) > longestName {
		faults = append(faults, fmt.Errorf("name is longer than %d bytes", longestName))
	}
	gossip, err := resolve(o.Gossip)
	if err != nil {
		faults = append(faults, fmt.Errorf("gossip address %q: %w", o.Gossip, err))
	} else if !gossip.IP.IsLoopback() && o.Secret == "" {
		faults = append(faults, fmt.Errorf("gossip address %q is not on loopback, and there is no shared secret: "+
			"anyone who can reach it can control the actors", o.Gossip))
	}
	if o.Secret == "" && len(o.AcceptSecrets) > 0 {
		faults = append(faults, errors.New("there are secrets to accept, but this member has no secret"))
	}
	if slices.Contains(o.AcceptSecrets, "") {
		faults = append(faults, errors.New("AcceptSecrets contains an empty secret"))
	}
	if o.Advertise != "" && net.ParseIP(o.Advertise) == nil {
		faults = append(faults, fmt.Errorf("advertise address %q is not an IP address", o.Advertise))
	}
	if o.ProbeInterval == 0 {
		o.ProbeInterval = 500 * time.Millisecond
	}
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if len(faults) > 0 {
		return o, fmt.Errorf("cluster: %w", errors.Join(faults...))
	}
	return o, nil
}

// resolve turns host:port into an address with an IP. An empty host is the wildcard.
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

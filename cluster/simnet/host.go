package simnet

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/memberlist"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/divandb/divan/cluster"
)

const (
	gossipPort = 7946
	remotePort = 7947
	// queued is how many packets may wait for a host. Further ones are lost.
	queued = 1024
)

// Host is one start of a member on a Network: its gossip and its remoting.
type Host struct {
	n       *Network
	at      net.IP
	ip      string
	packets chan *memberlist.Packet
	streams chan net.Conn
	over    chan struct{} // closed when the gossip port is closed
	once    sync.Once

	mu     sync.Mutex
	system *actor.ActorSystem // nil while remoting does not listen
}

var _ cluster.Network = (*Host)(nil)

func newHost(n *Network, at net.IP) *Host {
	return &Host{n: n, at: at, ip: at.String(), packets: make(chan *memberlist.Packet, queued),
		streams: make(chan net.Conn), over: make(chan struct{})}
}

// Kill takes the host off the network at once: it neither sends nor receives any more.
func (h *Host) Kill() { h.n.remove(h) }

// Gossip returns the address of gossip.
func (h *Host) Gossip() string { return net.JoinHostPort(h.ip, strconv.Itoa(gossipPort)) }

// OpenGossip implements cluster.Network.
func (h *Host) OpenGossip(*net.TCPAddr) (cluster.Transport, error) { return transport{h}, nil }

// OpenRemoting implements cluster.Network. Messages must be bytes, as the cluster's are.
func (h *Host) OpenRemoting(s *actor.ActorSystem) (stop func(), err error) {
	s.ProcessRegistry.Address = net.JoinHostPort(h.ip, strconv.Itoa(remotePort))
	s.ProcessRegistry.RegisterAddressResolver(func(pid *actor.PID) (actor.Process, bool) { return process{h}, true })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.system = s
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.system = nil
	}, nil
}

// process stands for all processes on other hosts.
type process struct{ h *Host }

func (p process) SendUserMessage(pid *actor.PID, message any) {
	_, message, sender := actor.UnwrapEnvelope(message)
	b, ok := message.(*wrapperspb.BytesValue)
	to, _, err := net.SplitHostPort(pid.Address)
	if !ok || err != nil {
		return
	}
	text := slices.Clone(b.Value)
	count := func(s *Sent) { s.Messages, s.MessageBytes = s.Messages+1, s.MessageBytes+int64(len(text)) }
	p.h.n.send(p.h, to, count, func(to *Host) {
		to.mu.Lock()
		s := to.system
		to.mu.Unlock()
		if s != nil {
			copied := wrapperspb.Bytes(slices.Clone(text))
			s.Root.RequestWithCustomSender(actor.NewPID(pid.Address, pid.Id), copied, sender)
		}
	})
}

func (process) SendSystemMessage(*actor.PID, any) {}
func (process) Stop(*actor.PID)                   {}

// transport is the host's gossip.
type transport struct{ h *Host }

func (t transport) GetAutoBindPort() int { return gossipPort }

func (t transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.h.at, gossipPort, nil
}

func (t transport) WriteTo(b []byte, addr string) (time.Time, error) {
	return t.WriteToAddress(b, memberlist.Address{Addr: addr})
}

func (t transport) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	now := time.Now()
	to, _, err := net.SplitHostPort(a.Addr)
	if err != nil {
		return now, fmt.Errorf("simnet: %w", err)
	}
	b = slices.Clone(b)
	from := &net.UDPAddr{IP: t.h.at, Port: gossipPort}
	t.h.n.send(t.h, to, func(s *Sent) { s.Packets++ }, func(to *Host) {
		select {
		case to.packets <- &memberlist.Packet{Buf: slices.Clone(b), From: from, Timestamp: time.Now()}:
		default:
		}
	})
	return now, nil
}

func (t transport) PacketCh() <-chan *memberlist.Packet { return t.h.packets }
func (t transport) StreamCh() <-chan net.Conn           { return t.h.streams }

func (t transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return t.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

func (t transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	to, _, err := net.SplitHostPort(a.Addr)
	if err != nil {
		return nil, fmt.Errorf("simnet: %w", err)
	}
	return t.h.n.dial(t.h, to, timeout)
}

func (t transport) Shutdown() error {
	t.h.once.Do(func() {
		close(t.h.over)
		t.h.Kill()
	})
	return nil
}

// accept hands a connection to gossip.
func (h *Host) accept(c net.Conn) {
	select {
	case h.streams <- c:
	case <-h.over:
		_ = c.Close()
	}
}

// Package simnet is a network in memory, on which members of a cluster run in one process and lose, double, delay and
// reorder their messages by a seed. It uses timers and channels only, so that it works with the simulated time of
// testing/synctest. It is for tests.
package simnet

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// Faults say how a network fails.
type Faults struct {
	// Lose and Double are the probabilities that a message is lost, or arrives twice.
	Lose, Double float64
	// Delay is the maximum time that a message takes. Each takes its own, so they overtake each other.
	Delay time.Duration
}

// Network connects hosts. It is safe for concurrent use.
type Network struct {
	seed uint64
	mu   struct {
		sync.Mutex
		faults  Faults
		hosts   map[string]*Host // those that are up, by IP
		cut     map[[2]string]bool
		links   map[[2]string]*link // by from and to
		streams map[*stream]struct{}
		sent    Sent
	}
}

// Sent is what was handed to the network so far.
type Sent struct {
	Packets, Messages, MessageBytes int64 // of gossip; of actors, and their bytes
	Lost, Doubled                   int64
}

// New returns a network without hosts. The n-th message from one host to another has the same fate in every run with
// the same seed and faults.
func New(seed uint64, f Faults) *Network {
	n := &Network{seed: seed}
	n.mu.faults, n.mu.hosts, n.mu.cut = f, map[string]*Host{}, map[[2]string]bool{}
	n.mu.links, n.mu.streams = map[[2]string]*link{}, map[*stream]struct{}{}
	return n
}

// Host starts a host with an IP address, which implements cluster.Network for one member.
func (n *Network) Host(ip string) (*Host, error) {
	at := net.ParseIP(ip)
	if at == nil {
		return nil, fmt.Errorf("simnet: %q is not an IP address", ip)
	}
	h := newHost(n, at)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.hosts[ip] != nil {
		return nil, fmt.Errorf("simnet: %s: %w", ip, syscall.EADDRINUSE)
	}
	n.mu.hosts[ip] = h
	return h, nil
}

// Change sets how the network fails from now on.
func (n *Network) Change(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.faults = f
}

// Cut stops or restores all messages from one IP address to another. Connections between them break.
func (n *Network) Cut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	link := [2]string{from, to}
	if !cut {
		delete(n.mu.cut, link)
		return
	}
	n.mu.cut[link] = true
	n.breakStreams(func(s *stream) bool {
		return s.ends == link || s.ends == [2]string{to, from}
	})
}

// Sent returns what was sent so far.
func (n *Network) Sent() Sent {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.sent
}

// remove takes a host off the network, and breaks its connections.
func (n *Network) remove(h *Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.hosts[h.ip] == h {
		delete(n.mu.hosts, h.ip)
	}
	n.breakStreams(func(s *stream) bool { return s.from == h || s.to == h })
}

// breakStreams closes connections. The caller holds mu.
func (n *Network) breakStreams(which func(*stream) bool) {
	for s := range n.mu.streams {
		if which(s) {
			s.close()
			delete(n.mu.streams, s)
		}
	}
}

// link is the way from one host to another.
type link struct {
	*rand.Rand
	last time.Time // the latest arrival without faults
}

// link returns the way from one host to another. The caller holds mu.
func (n *Network) link(ends [2]string) *link {
	l := n.mu.links[ends]
	if l == nil {
		h := fnv.New64a()
		h.Write([]byte(ends[0] + " " + ends[1]))
		l = &link{Rand: rand.New(rand.NewPCG(n.seed, h.Sum64()))}
		n.mu.links[ends] = l
	}
	return l
}

// send calls deliver with the receiving host for each copy of a message that arrives, when it does.
func (n *Network) send(from *Host, to string, count func(*Sent), deliver func(*Host)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.hosts[from.ip] != from {
		return // dead
	}
	ends := [2]string{from.ip, to}
	l, f := n.link(ends), n.mu.faults
	lost, double := l.Float64() < f.Lose, l.Float64() < f.Double
	delays := [2]time.Duration{l.delay(f), l.delay(f)}
	count(&n.mu.sent)
	if lost || n.mu.cut[ends] {
		n.mu.sent.Lost++
		return
	}
	copies := 1
	if double {
		copies = 2
		n.mu.sent.Doubled++
	}
	for _, d := range delays[:copies] {
		time.AfterFunc(d, func() {
			n.mu.Lock()
			h := n.mu.hosts[to]
			n.mu.Unlock()
			if h != nil {
				deliver(h)
			}
		})
	}
}

// minDelay is how long any message takes.
const minDelay = 200 * time.Microsecond

// delay returns how long the next message takes. Without faults, messages arrive in order.
func (l *link) delay(f Faults) time.Duration {
	if f.Delay > 0 {
		return minDelay + time.Duration(l.Int64N(int64(f.Delay)))
	}
	now := time.Now()
	at := now.Add(minDelay)
	if !at.After(l.last) {
		at = l.last.Add(1)
	}
	l.last = at
	return at.Sub(now)
}

// errUnreachable is what dialling a host without a connection yields.
var errUnreachable = errors.New("simnet: i/o timeout")

// dial opens a connection.
func (n *Network) dial(from *Host, to string, timeout time.Duration) (net.Conn, error) {
	n.mu.Lock()
	took := 2 * n.link([2]string{from.ip, to}).delay(n.mu.faults)
	n.mu.Unlock()
	if took > timeout || !n.pause(from, took) {
		n.pause(from, timeout)
		return nil, errUnreachable
	}
	n.mu.Lock()
	if n.mu.cut[[2]string{from.ip, to}] || n.mu.cut[[2]string{to, from.ip}] || n.mu.hosts[from.ip] != from {
		n.mu.Unlock()
		n.pause(from, timeout-took)
		return nil, errUnreachable
	}
	defer n.mu.Unlock()
	h := n.mu.hosts[to]
	if h == nil {
		return nil, fmt.Errorf("simnet: %s: %w", to, syscall.ECONNREFUSED)
	}
	near, far := net.Pipe()
	s := &stream{from: from, to: h, ends: [2]string{from.ip, to}, near: near, far: far}
	n.mu.streams[s] = struct{}{}
	time.AfterFunc(0, func() { h.accept(far) })
	return conn{near, s, n}, nil
}

// pause waits. It returns false at once if the host's transport has been shut down.
func (n *Network) pause(h *Host, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.over:
		return false
	}
}

// stream is a connection.
type stream struct {
	from, to  *Host
	ends      [2]string
	near, far net.Conn
}

func (s *stream) close() {
	_ = s.near.Close()
	_ = s.far.Close()
}

// conn is the caller's end of a stream.
type conn struct {
	net.Conn
	s *stream
	n *Network
}

func (c conn) Close() error {
	c.n.mu.Lock()
	delete(c.n.mu.streams, c.s)
	c.n.mu.Unlock()
	return c.Conn.Close()
}

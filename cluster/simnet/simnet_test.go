package simnet_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
)

// gossips opens the gossip port of a new host.
func gossips(t *testing.T, n *simnet.Network, ip string) (*simnet.Host, cluster.Transport) {
	t.Helper()
	h, err := n.Host(ip)
	if err != nil {
		t.Fatal(err)
	}
	port, err := h.OpenGossip(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = port.Shutdown() })
	return h, port
}

// arrivals sends a hundred packets and returns what arrives, in order.
func arrivals(t *testing.T, seed uint64, f simnet.Faults) (list string) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(seed, f)
		a, from := gossips(t, n, "127.0.0.1")
		b, to := gossips(t, n, "127.0.0.2")
		for i := range 100 {
			if _, err := from.WriteTo(fmt.Appendf(nil, "%d ", i), b.Gossip()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		for len(to.PacketCh()) > 0 {
			p := <-to.PacketCh()
			if p.From.String() != a.Gossip() {
				t.Errorf("a packet is from %s", p.From)
			}
			list += string(p.Buf)
		}
	})
	return list
}

// TestNetwork checks that a seed decides what is lost, doubled and reordered, and that a network without faults does
// none of it.
func TestNetwork(t *testing.T) {
	all := ""
	for i := range 100 {
		all += fmt.Sprintf("%d ", i)
	}
	if got := arrivals(t, 1, simnet.Faults{}); got != all {
		t.Errorf("without faults, %q arrived", got)
	}
	bad := simnet.Faults{Lose: 0.2, Double: 0.2, Delay: 100 * time.Millisecond}
	one, again, other := arrivals(t, 1, bad), arrivals(t, 1, bad), arrivals(t, 2, bad)
	if one != again || one == other || one == all {
		t.Errorf("seed 1: %q\nagain:  %q\nseed 2: %q", one, again, other)
	}
}

// TestNetwork_Cut checks that a link can be cut in one direction, that connections need both, and that a dead host
// refuses them.
func TestNetwork_Cut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(1, simnet.Faults{})
		a, from := gossips(t, n, "127.0.0.1")
		b, to := gossips(t, n, "127.0.0.2")
		n.Cut("127.0.0.1", "127.0.0.2", true)
		for port, address := range map[cluster.Transport]string{from: b.Gossip(), to: a.Gossip()} {
			if _, err := port.WriteTo([]byte("x"), address); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if c, err := port.DialTimeout(address, time.Second); err == nil || time.Since(begin) != time.Second {
				t.Errorf("a connection over a cut link: %v, %v after %v", c, err, time.Since(begin))
			}
		}
		if len(from.PacketCh()) != 1 || len(to.PacketCh()) != 0 {
			t.Errorf("%d and %d packets arrived", len(from.PacketCh()), len(to.PacketCh()))
		}
		n.Cut("127.0.0.1", "127.0.0.2", false)
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			c := <-to.StreamCh()
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("read from a connection that nobody has written to")
			}
		}()
		c, err := from.DialTimeout(b.Gossip(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		n.Cut("127.0.0.2", "127.0.0.1", true)
		<-accepted
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("a connection survived a cut")
		}
		n.Cut("127.0.0.2", "127.0.0.1", false)
		b.Kill()
		if _, err := from.DialTimeout(b.Gossip(), time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a dead host answered: %v", err)
		}
	})
}

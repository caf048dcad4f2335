package cluster_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
)

// TestCluster_NewID_packetsLost checks that a member that was given up goes on under a new id, and that the others soon
// see it under that id although all packets of gossip are lost. What is left then are connections.
func TestCluster_NewID_packetsLost(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newIDWithoutPackets(t, seed) })
		})
	}
}

// TestCluster_RestartAfterLeaving checks that a member that returns from a restart is soon seen by one that is the only
// one that heard that it leaves.
func TestCluster_RestartAfterLeaving(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { restartAfterLeaving(t, seed) })
		})
	}
}

// TestCluster_slowNotify checks that a member whose events are taken late, but which hears the others all the time,
// keeps its id: nobody has given it up.
func TestCluster_slowNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(10 * time.Second) })
		n := simnet.New(1, simnet.Faults{})
		start := func(name, ip string, notify func(cluster.Event), join ...string) *cluster.Cluster {
			o, _ := hosted(t, n, name, ip, join...)
			o.Notify = notify
			return started(t, o)
		}
		one := start("one", "127.0.0.1", func(cluster.Event) { time.Sleep(10 * time.Second) })
		id := one.Self().ID
		two := start("two", "127.0.0.2", nil, "127.0.0.1:7946")
		sees(t, two, "one=alive two=alive")
		time.Sleep(15 * time.Second)
		if got := find(t, two, "one").ID; got != id || one.Self().ID != id {
			t.Errorf("it has the id %s instead of %s", got, id)
		}
	})
}

func restartAfterLeaving(t *testing.T, seed uint64) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) })
	n := simnet.New(seed, simnet.Faults{})
	start := func(name, ip string, join ...string) (*cluster.Cluster, *simnet.Host) {
		o, h := hosted(t, n, name, ip, join...)
		return started(t, o), h
	}
	const a, b, c = "127.0.0.1", "127.0.0.2", "127.0.0.3"
	one, _ := start("one", a)
	two, host := start("two", b, a+":7946")
	three, _ := start("three", c, a+":7946")
	for _, m := range []*cluster.Cluster{one, two, three} {
		sees(t, m, "one=alive three=alive two=alive")
	}
	for _, from := range []string{b, c} {
		n.Cut(from, a, true)
	}
	two.Drain()
	two.AnnounceLeave() // a second announcement; it may have had to contradict others too
	eventually(t, time.Second, func() string {
		if !find(t, three, "two").Draining {
			return "three does not hear that two leaves"
		}
		return ""
	})
	time.Sleep(time.Second) // until three has passed on what it has heard, to nobody
	host.Kill()
	for _, from := range []string{b, c} {
		n.Cut(from, a, false)
	}
	again, _ := start("two", b, a+":7946")
	for _, m := range []*cluster.Cluster{one, three} {
		eventually(t, 1500*time.Millisecond, func() string {
			if m := find(t, m, "two"); m.ID != again.Self().ID || m.Draining {
				return fmt.Sprintf("two is seen in its earlier life: %+v", m)
			}
			return ""
		})
	}
}

func newIDWithoutPackets(t *testing.T, seed uint64) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) }) // memberlist does not wait for its own goroutines
	n := simnet.New(seed, simnet.Faults{})
	const a, b = "127.0.0.1", "127.0.0.2"
	events := &eventLog{last: map[cluster.EventKind]time.Time{}}
	start := func(name, ip string, notify func(cluster.Event), join ...string) *cluster.Cluster {
		o, _ := hosted(t, n, name, ip, join...)
		o.Notify = notify
		return started(t, o)
	}
	one := start("one", a, events.add)
	two := start("two", b, nil, a+":7946")
	sees(t, one, "one=alive two=alive")
	sees(t, two, "one=alive two=alive")
	old := find(t, one, "two").ID
	for _, cut := range [][2]string{{a, b}, {b, a}} {
		n.Cut(cut[0], cut[1], true)
		defer n.Cut(cut[0], cut[1], false)
	}
	sees(t, one, "one=alive two=left")
	sees(t, two, "one=left two=alive")
	n.Change(simnet.Faults{Lose: 1})
	n.Cut(a, b, false)
	n.Cut(b, a, false)
	eventually(t, 10*time.Second, func() string {
		if now := find(t, one, "two"); now.ID == old {
			return fmt.Sprintf("one sees two %s as %s", now.Status, now.ID)
		}
		return ""
	})
	if late := time.Since(events.at(cluster.MemberReturned)); late > 1200*time.Millisecond {
		t.Errorf("the new id is seen %v after the member has returned", late)
	}
	if got, want := find(t, one, "two").ID, two.Self().ID; got != want {
		t.Errorf("one sees two as %s, and it is %s", got, want)
	}
	n.Change(simnet.Faults{})
}

// eventLog notes when there was an event of a kind for the last time.
type eventLog struct {
	mu   sync.Mutex
	last map[cluster.EventKind]time.Time
}

func (l *eventLog) add(e cluster.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[e.Kind] = e.At
}

func (l *eventLog) at(k cluster.EventKind) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[k]
}

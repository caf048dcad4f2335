package cluster_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
)

// TestCluster_saidToHaveLeft checks that a notice that a member has left which lives is soon corrected, also where no
// packet of gossip arrives, and that notices about earlier runs of members, and about none, change nothing.
func TestCluster_saidToHaveLeft(t *testing.T) {
	for _, faults := range []simnet.Faults{{}, {Lose: 1}} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(faults, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { saidToHaveLeft(t, seed, faults) })
			})
		}
	}
}

func saidToHaveLeft(t *testing.T, seed uint64, faults simnet.Faults) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) }) // memberlist does not wait for its own goroutines
	n := simnet.New(seed, simnet.Faults{})
	var told struct {
		sync.Mutex
		events []string
	}
	start := func(i int) (*cluster.Cluster, *simnet.Host) {
		o, h := hosted(t, n, fmt.Sprint("m", i), fmt.Sprintf("127.0.0.%d", i+1))
		if i == 0 {
			o.Notify = func(e cluster.Event) {
				told.Lock()
				defer told.Unlock()
				if e.Kind != cluster.MemberSuspected && e.Kind != cluster.MemberAnswers {
					told.events = append(told.events, fmt.Sprint(e.Kind, " ", e.Member))
				}
			}
		} else {
			o.Join = []string{"127.0.0.1:7946"}
		}
		return started(t, o), h
	}
	tells := func(want ...string) {
		t.Helper()
		told.Lock()
		defer told.Unlock()
		if !slices.Equal(told.events, want) {
			t.Errorf("told %q, want %q", told.events, want)
		}
		told.events = nil
	}
	zero, _ := start(0)
	one, _ := start(1)
	two, host := start(2)
	say := func(id string) {
		t.Helper()
		if err := one.SayLeft(zero.Addr(), id); err != nil {
			t.Error(err)
		}
	}
	for _, m := range []*cluster.Cluster{zero, one, two} {
		sees(t, m, "m0=alive m1=alive m2=alive")
	}
	time.Sleep(2 * time.Second)
	tells("joined m1", "joined m2")
	for _, id := range []string{"", ".", ".1", "x", zero.Self().ID} {
		say(id)
	}
	time.Sleep(2 * time.Second)
	tells()
	n.Change(faults)
	first := two.Self().ID
	say(first)
	left := func(want bool) {
		t.Helper()
		eventually(t, 6*time.Second, func() string { // without packets it may be suspect
			if m := find(t, zero, "m2"); (m.Status == cluster.Left) != want {
				return fmt.Sprintf("m2 is %s", m.Status)
			}
			return ""
		})
	}
	left(true)
	left(false)
	eventually(t, 30*time.Second, func() string { // without packets by the exchanges of everything
		id := two.Self().ID
		if a, b := find(t, zero, "m2").ID, find(t, one, "m2").ID; id == first || a != id || b != id {
			return fmt.Sprintf("m2 had the id %s and has %s, m0 sees %s, m1 %s", first, id, a, b)
		}
		return ""
	})
	n.Change(simnet.Faults{})
	tells("left m2", "returned m2")
	eventually(t, 5*time.Second, func() string {
		if !slices.Equal(owners(zero, manyIDs()), owners(two, manyIDs())) {
			return "members disagree on the owners"
		}
		return ""
	})
	say(first) // once more: it has lived on since
	time.Sleep(time.Second)
	before := two.Self().ID
	host.Kill()
	two, _ = start(2)
	eventually(t, 5*time.Second, func() string {
		if got, want := find(t, zero, "m2").ID, two.Self().ID; got != want {
			return fmt.Sprintf("m2 is seen as %s, and is %s", got, want)
		}
		return ""
	})
	say(before) // arrives late
	time.Sleep(5 * time.Second)
	sees(t, zero, "m0=alive m1=alive m2=alive")
	tells("restarted m2")
}

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

// TestCluster_twoKilled checks what is told when two members are killed and one of them is soon started again, while
// the others are still waiting for the other one: that one is silent since it was killed, also to those that were
// started later, and the first one is not suspected again.
func TestCluster_twoKilled(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { twoKilled(t, seed) })
		})
	}
}

func twoKilled(t *testing.T, seed uint64) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) }) // memberlist does not wait for its own goroutines
	n := simnet.New(seed, simnet.Faults{})
	var told struct {
		sync.Mutex
		events [3][]cluster.Event // of m0, and of m1 after it was started again
	}
	start := func(i, list int) (*cluster.Cluster, *simnet.Host) {
		o, h := hosted(t, n, fmt.Sprint("m", i), fmt.Sprintf("127.0.0.%d", i+1))
		o.Notify = func(e cluster.Event) {
			told.Lock()
			defer told.Unlock()
			told.events[list] = append(told.events[list], e)
		}
		if i > 0 {
			o.Join = []string{"127.0.0.1:7946"}
		}
		return started(t, o), h
	}
	zero, _ := start(0, 0)
	_, one := start(1, 2)
	_, two := start(2, 2)
	sees(t, zero, "m0=alive m1=alive m2=alive")
	time.Sleep(10*time.Second + time.Duration(seed)*170*time.Millisecond)
	killed := time.Now()
	one.Kill()
	two.Kill()
	time.Sleep(1500*time.Millisecond + time.Duration(seed%3)*200*time.Millisecond)
	back := time.Now()
	again, _ := start(1, 1)
	sees(t, zero, "m0=alive m1=alive m2=left")
	sees(t, again, "m0=alive m1=alive m2=left")
	time.Sleep(5 * time.Second)
	told.Lock()
	defer told.Unlock()
	returns := []cluster.EventKind{cluster.MemberRestarted, cluster.MemberReturned}
	for i, list := range told.events[:2] {
		for _, e := range list {
			switch {
			case e.Member == "m1" && e.At.After(back) && !slices.Contains(returns, e.Kind):
				t.Errorf("m%d tells %s of m1, %v after it was started again", i, e.Kind, e.At.Sub(back))
			case e.Kind == cluster.MemberSuspected, e.Kind == cluster.MemberDead, e.Kind == cluster.MemberRestarted:
				if after := e.Since.Sub(killed); after > 0 || i == 0 && e.Since.IsZero() {
					t.Errorf("m%d tells %s of %s, since %v after it was killed", i, e.Kind, e.Member, after)
				}
			}
		}
		if i == 0 && !slices.ContainsFunc(list, func(e cluster.Event) bool { return e.Kind == cluster.MemberDead }) {
			t.Errorf("m%d does not tell that m2 is dead: %+v", i, list)
		}
	}
}

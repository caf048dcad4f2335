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

// TestStop_seen checks that the members that stay see others leave at once, and not die, when several leave at the same
// moment, and when no packet of gossip arrives any more.
func TestStop_seen(t *testing.T) {
	for _, c := range []struct {
		members, leave int
		faults         simnet.Faults
	}{
		{3, 2, simnet.Faults{}},
		{5, 4, simnet.Faults{}},
		{5, 2, simnet.Faults{Lose: 0.3, Double: 0.2, Delay: 50 * time.Millisecond}},
		{3, 1, simnet.Faults{Lose: 1}},
		{4, 2, simnet.Faults{Lose: 1}},
	} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%d of %d, %v, %d", c.leave, c.members, c.faults, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { leaveTogether(t, seed, c.members, c.leave, c.faults) })
			})
		}
	}
}

func leaveTogether(t *testing.T, seed uint64, members, leave int, faults simnet.Faults) {
	t.Cleanup(func() { time.Sleep(10 * time.Second) }) // memberlist does not wait for its own goroutines
	n := simnet.New(seed, simnet.Faults{})
	var told struct {
		sync.Mutex
		kinds map[cluster.EventKind]int
	}
	told.kinds = map[cluster.EventKind]int{}
	beganAll := time.Now().Add(-time.Hour) // long before any of them joined
	notify := func(e cluster.Event) {
		told.Lock()
		defer told.Unlock()
		if off := e.Since.Sub(beganAll).Abs(); e.Kind == cluster.MemberLeft && off > time.Second {
			t.Errorf("%s is told to have started %v from when it was", e.Member, off)
		}
		told.kinds[e.Kind]++
	}
	var all []*cluster.Cluster
	want := ""
	for i := range members {
		o, _ := hosted(t, n, fmt.Sprint("m", i), fmt.Sprintf("127.0.0.%d", i+1))
		o.Began = beganAll
		if i > 0 {
			o.Join = []string{"127.0.0.1:7946"}
		}
		want += fmt.Sprintf(" m%d=alive", i)
		if i < members-leave {
			o.Notify = notify
			all = append(all, started(t, o))
		} else {
			all = append(all, mustStart(t, o))
		}
		time.Sleep(time.Duration(seed) * 7 * time.Millisecond)
	}
	for _, m := range all {
		sees(t, m, want[1:])
	}
	time.Sleep(2 * time.Second)
	n.Change(faults)
	begun := time.Now()
	var leaving sync.WaitGroup
	for _, m := range all[members-leave:] {
		leaving.Go(func() {
			m.AnnounceLeave()
			m.AnnounceLeave() // as nodes do, which are drained first
			_ = m.Stop()      // fails if there is nobody to tell
		})
	}
	leaving.Wait()
	gone := func() string {
		for _, m := range all[:members-leave] {
			for i := members - leave; i < members; i++ {
				if x := find(t, m, fmt.Sprint("m", i)); x.Status != cluster.Left || x.GivenUp {
					return fmt.Sprintf("%s sees %+v", m.Self().Name, x)
				}
			}
		}
		return ""
	}
	eventually(t, 10*time.Second, gone)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("they are seen to leave after %v", took)
	}
	n.Change(simnet.Faults{})
	time.Sleep(10 * time.Second) // until a member that is not known to have left would be given up
	if wrong := gone(); wrong != "" {
		t.Error(wrong)
	}
	told.Lock()
	defer told.Unlock()
	if left := told.kinds[cluster.MemberLeft]; left != leave*(members-leave) || told.kinds[cluster.MemberDead] > 0 {
		t.Errorf("told %v", told.kinds)
	}
}

package e2e_test

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// What a node tells that stops is not lost with it: that it was drained.
func TestEvents_Restarted(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t, 3)
	const all = "node0 alive, node1 alive, node2 alive"
	for i := range 3 {
		eventually(t, "every node sees every other", 20*time.Second, func() bool { return c.statuses(i) == all })
	}
	one := c.nodes[1].client()
	eventually(t, "all answer each other", 20*time.Second, func() bool {
		return len(one.events("").Absent)+len(c.nodes[2].client().events("").Absent) == 0
	})
	c.nodes[2].stop(syscall.SIGTERM)
	if p := one.events("node2 is being drained"); len(p.Events) != 1 || p.Events[0].Node != "node2" {
		t.Errorf("node1 does not know that node2 was drained: %+v", p.Events)
	}
	c.start(2)
	eventually(t, "node2 is back", 20*time.Second, func() bool { return c.statuses(1) == all })
}

// An outage of the store that a node missed the end of is over for that node when it has been restarted.
func TestEvents_restartedInOutage(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	c := startCluster(t, 3)
	one := c.nodes[1].client()
	type outage struct {
		Text   string
		Over   bool
		Stores []string
	}
	told := func() []outage {
		var page struct{ Stories []outage }
		one.into("/_dashboard/api/events", &page)
		return page.Stories
	}
	lasts := func(node string) bool {
		for _, s := range told() {
			if !s.Over && slices.Contains(s.Stores, node) {
				return true
			}
		}
		return false
	}
	_ = c.nodes[0].cmd.Process.Signal(stopSignal) // which has the store
	eventually(t, "node1 and node2 are without the store", 30*time.Second, func() bool {
		return lasts("node1") && lasts("node2")
	})
	time.Sleep(3 * time.Second) // node1 learns what node2 tells
	c.nodes[2].kill()
	_ = c.nodes[0].cmd.Process.Signal(continueSignal)
	eventually(t, "the store is back", 30*time.Second, func() bool { return one.status("GET", "/_all_dbs", "") == 200 })
	c.start(2)
	eventually(t, "the outage is over", 30*time.Second, func() bool { return !lasts("node1") && !lasts("node2") })
	stories := told()
	if !slices.ContainsFunc(stories, func(s outage) bool { return slices.Contains(s.Stores, "node2") }) {
		t.Errorf("nobody tells of node2: %+v", stories)
	}
}

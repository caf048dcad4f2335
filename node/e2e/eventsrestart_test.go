package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a node tells that stops is not lost with it: that it was drained.
func TestEvents_Restarted(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t, 3)
	const all = "node0 alive, node1 alive, node2 alive"
	c.allAlive()
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

// A node that hangs while a member is forgotten forgets it later, and no node needs attention because of that member.
func TestEvents_Forgotten(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t, 4)
	c.allAlive()
	one := c.nodes[0].client()
	eventually(t, "all answer", 20*time.Second, func() bool { return len(one.events("").Absent) == 0 })
	c.nodes[3].kill()
	for i := range 3 {
		eventually(t, "node3 is given up", 20*time.Second, func() bool {
			return c.statuses(i) == "node0 alive, node1 alive, node2 alive, node3 left"
		})
	}
	needsAttention := func(i int) bool {
		var o struct{ Attention []struct{ Text string } }
		c.nodes[i].client().into("/_dashboard/api/overview", &o)
		return strings.Contains(fmt.Sprint(o.Attention), "node3")
	}
	if !needsAttention(0) {
		t.Error("a dead node needs no attention")
	}
	suspend(t, c.nodes[2].cmd.Process)
	var token struct{ Token string }
	one.into("/_dashboard/api/token", &token)
	r := one.do("POST", "/_dashboard/api/act", `{"do":"forget","member":"node3"}`, "X-Divan-Token", token.Token)
	resume(t, c.nodes[2].cmd.Process)
	if r.status != 503 || !strings.Contains(string(r.body), "node2") {
		t.Errorf("forgetting with a node that hangs: %d %s", r.status, r.body)
	}
	for i := range 3 {
		eventually(t, "node3 is forgotten", 30*time.Second, func() bool {
			return c.statuses(i) == "node0 alive, node1 alive, node2 alive" && !needsAttention(i) &&
				c.nodes[i].client().storyOf("node3").Title == "node3 did not answer and was forgotten"
		})
	}
}

// Each outage of the node with the store is told in a story of its own, with the outage of the store, which the stories
// of other nodes that went meanwhile do not tell again.
func TestEvents_twice(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	c := startCluster(t, 3)
	one := c.nodes[1].client()
	const all = "node0 alive, node1 alive, node2 alive"
	eventually(t, "node1 sees the others", 20*time.Second, func() bool { return c.statuses(1) == all })
	first := c.nodes[0].cmd.Process
	tells := func(kind string) (n int) {
		for _, e := range one.events(kind).Events {
			if e.Node == "node1" || slices.Contains(e.Also, "node1") {
				n++
			}
		}
		return n
	}
	away := func() {
		_ = first.Signal(stopSignal)
		eventually(t, "node0 is given up", 20*time.Second, func() bool {
			return c.statuses(1) == "node0 left, node1 alive, node2 alive"
		})
		eventually(t, "the store is lost", 20*time.Second, func() bool {
			return tells("store_lost") > tells("store_back")
		})
	}
	back := func(also ...int) {
		_ = first.Signal(continueSignal)
		for _, i := range also {
			c.start(i)
		}
		eventually(t, "node0 is back", 20*time.Second, func() bool { return c.statuses(1) == all })
	}
	away()
	back()
	eventually(t, "the store is back", 20*time.Second, func() bool {
		return tells("store_lost") == tells("store_back")
	})
	away()
	c.nodes[2].kill()
	back(2)
	var page struct {
		Stories []struct {
			Member, Text string
			Over         bool
			Lines        []struct{ At time.Time }
		}
	}
	eventually(t, "all outages are over", 30*time.Second, func() bool {
		page.Stories = nil
		one.into("/_dashboard/api/events", &page)
		for _, s := range page.Stories {
			if !s.Over {
				return false
			}
		}
		return len(page.Stories) > 2
	})
	var told []string
	for _, s := range page.Stories {
		if s.Member != "node2" && !strings.Contains(s.Text, "given up") {
			continue // a member that did not answer for a moment, on a machine with much to do
		}
		told = append(told, fmt.Sprint(s.Member, strings.Count(s.Text, "without store"), strings.Count(s.Text, "back")))
		if !slices.IsSortedFunc(s.Lines, func(a, b struct{ At time.Time }) int { return a.At.Compare(b.At) }) {
			t.Errorf("not in order: %+v", s)
		}
	}
	slices.Sort(told)
	if want := []string{"node01 1", "node01 1", "node20 1"}; !slices.Equal(told, want) {
		t.Errorf("told %q: %+v", told, page.Stories)
	}
}

package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// A member that starts lists those that died or left before, as the others do, and tells no event of them. One that was
// forgotten stays forgotten on the members that heard of it, while others still tell of it.
func TestCluster_goneBefore(t *testing.T) {
	a := started(t, options(t, "a"))
	b := startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}})
	died := startProcess(t, memberSpec{Name: "died", Join: []string{a.Addr()}})
	left := startProcess(t, memberSpec{Name: "left", Join: []string{a.Addr()}})
	sees(t, a, "a=alive b=alive died=alive left=alive")
	sees(t, b, "a=alive b=alive died=alive left=alive")
	died.kill()
	left.stop()
	sees(t, a, "a=alive b=alive died=left left=left")
	sees(t, b, "a=alive b=alive died=left left=left")
	b.kill()
	sees(t, a, "a=alive b=left died=left left=left")

	b = startProcess(t, memberSpec{Name: "b", Join: []string{a.Addr()}})
	sees(t, b, "a=alive b=alive died=left left=left")
	for _, name := range []string{"died", "left"} {
		want, got := find(t, a, name), find(t, b, name)
		apart := got.GoneSince.Sub(*want.GoneSince).Abs()
		got.GoneSince, want.GoneSince = nil, nil
		got.Roles, want.Roles = slices.Clone(got.Roles), slices.Clone(want.Roles)
		if got.GivenUp != (name == "died") || got.ID != want.ID || got.Gossip != want.Gossip ||
			got.Version != want.Version || got.GivenUp != want.GivenUp || apart > time.Second {
			t.Errorf("it lists %+v, %v apart, and the others %+v", got, apart, want)
		}
	}
	for _, e := range b.events() {
		if e.Member == "died" || e.Member == "left" {
			t.Errorf("it tells %s of %s", e.Kind, e.Member)
		}
	}

	a.Forget("died", time.Now())
	startProcess(t, memberSpec{Name: "c", Join: []string{find(t, b, "b").Gossip}}) // all exchange everything again
	sees(t, b, "a=alive b=alive c=alive died=left left=left")
	sees(t, a, "a=alive b=alive c=alive left=left")
	before := time.Now()
	again := startProcess(t, memberSpec{Name: "died", Join: []string{a.Addr()}}) // and is a member like any other
	sees(t, a, "a=alive b=alive c=alive died=alive left=left")
	sees(t, b, "a=alive b=alive c=alive died=alive left=left")
	again.kill()
	sees(t, a, "a=alive b=alive c=alive died=left left=left")
	if m := find(t, a, "died"); m.GoneSince == nil || m.GoneSince.Before(before) {
		t.Errorf("then it is listed as %+v", m)
	}
	eventually(t, 5*time.Second, func() string {
		for _, e := range b.events() {
			if e.Kind == cluster.MemberReturned && e.Member == "died" {
				return ""
			}
		}
		return "it does not tell that died is back"
	})
}

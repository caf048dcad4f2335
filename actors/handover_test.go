package actors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/actors"
)

// oneWatches waits until one of some nodes watches the shard a, and all others follow it.
func oneWatches(t *testing.T, db *database, nodes ...*actors.System) {
	t.Helper()
	eventually(t, func() string {
		states := map[string]int{}
		for _, s := range nodes {
			states[state(s, "a")]++
		}
		if states["watching"] != 1 || states["following"] != len(nodes)-1 || db.armed() != 1 {
			return fmt.Sprintf("%v with %d watches", states, db.armed())
		}
		return ""
	})
}

// An actor of a shard that fails too often hands the shard over: its node and those that followed it follow the next
// node, while the fault lasts.
func TestPeers_HandOver(t *testing.T) {
	db := newDatabase("cities")
	s := newStore(t, db)
	sick := newSickStore(s, db)
	m := newMesh()
	m.place("cities/a", "n1")
	s1, s2, s3 := m.startNode(t, sick, "n1"), m.startNode(t, s, "n2"), m.startNode(t, s, "n3")
	all := append(listen(t, s2, db, 2, "a"), listen(t, s3, db, 2, "a")...)
	all = append(all, listen(t, s1, sick.db, 2, "a")...)
	settled(t, db, 1, map[*actors.System]string{s1: "watching", s2: "following", s3: "following"})
	fault := panicking
	sick.db.watch.Store(&fault)
	db.commit("a")
	settled(t, db, 1, map[*actors.System]string{s1: "following", s2: "watching", s3: "following"})
	for i := range 5 {
		all.drain()
		db.commit("a")
		all.wake(t, fmt.Sprintf("commit %d", i))
	}
	if d := strings.Join(s1.Degraded(), "\n"); !strings.Contains(d, "actor_failing: ") {
		t.Errorf("the node says %q of itself", d)
	}
	for x := range s1.Shards() {
		if on := x.Look().Node; on != "n2" {
			t.Errorf("n1 says that the shard is placed on %s", on)
		}
	}
}

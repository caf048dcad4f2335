package actors_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
)

// A shard that another node follows costs less than 20 bytes per second while nothing happens, and while other shards
// change. Nodes tell each other what they follow by differences and a digest.
func TestPeers_IdleShardsCostLittle(t *testing.T) {
	for name, busy := range map[string]int{"idle": 0, "beside busy shards": 5} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { costLittle(t, busy) }) })
	}
}

func costLittle(t *testing.T, busy int) {
	t.Cleanup(func() { time.Sleep(time.Second) })
	db := newDatabase("cities")
	store := newStore(t, db)
	m := newMesh()
	m.beat = 250 * time.Millisecond
	const shards = 300
	var all []layer.ShardID
	for i := range shards {
		all = append(all, layer.ShardID(fmt.Sprint("s", i)))
		m.place(fmt.Sprint("cities/s", i), "n1")
	}
	m.startNode(t, store, "n1")
	follower := m.startNode(t, store, "n2")
	listening := listen(t, follower, db, 1, all...)
	time.Sleep(5 * time.Second)
	sent := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.bytes
	}
	const seconds = 20
	before := sent()
	commits := 0
	for begun := time.Now(); time.Since(begun) < seconds*time.Second; time.Sleep(500 * time.Millisecond) {
		for i := range busy {
			db.commit(layer.ShardID(fmt.Sprint("s", i)))
			commits++
		}
	}
	cost := float64(sent()-before) / seconds / shards
	t.Logf("%.1f bytes/s for each shard, with %d commits", cost, commits)
	if cost >= 20 {
		t.Errorf("a followed shard costs %.1f bytes/s", cost)
	}
	listening.drain()
	db.commit("s77")
	time.Sleep(100 * time.Millisecond)
	listening.wake(t, "a commit")
}

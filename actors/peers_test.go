package actors_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/layer"
)

// mesh is several nodes in one process, with a network between them that can lose messages. It takes the place of the
// cluster.
type mesh struct {
	mu      sync.Mutex
	nodes   map[string]*meshNode
	owner   map[string]string // the owner of a shard, in all views; a node's own view takes precedence
	lose    func(from, to string) bool
	wakes   int // messages with wakes
	letters int
	bytes   int // of all messages
	beat    time.Duration
	grace   time.Duration // actors.Options.OwnersGrace
}

// meshNode is one node of a mesh.
type meshNode struct {
	m       *mesh
	name    string
	system  *actors.System
	in      chan [2]string // from, message
	changed chan struct{}
	view    map[string]string
}

func newMesh() *mesh {
	return &mesh{nodes: map[string]*meshNode{}, owner: map[string]string{}, beat: 20 * time.Millisecond}
}

// startNode starts a node on a store.
func (m *mesh) startNode(t testing.TB, s actors.Store, name string) *actors.System {
	t.Helper()
	n := &meshNode{
		m:       m,
		name:    name,
		in:      make(chan [2]string, 1000),
		changed: make(chan struct{}, 1),
		view:    map[string]string{},
	}
	n.system = startStore(t, s, func(o *actors.Options) {
		o.Node, o.Peers, o.Beat, o.ShareFrom, o.OwnersGrace = name, n, m.beat, 1000, m.grace
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[name] = n
	var post sync.WaitGroup
	post.Go(func() {
		for l := range n.in {
			n.system.Receive(l[0], []byte(l[1]))
		}
	})
	t.Cleanup(func() {
		m.mu.Lock()
		delete(m.nodes, name)
		m.mu.Unlock()
		close(n.in)
		post.Wait()
	})
	return n.system
}

func (n *meshNode) Owner(_, id string, except ...string) string {
	n.m.mu.Lock()
	defer n.m.mu.Unlock()
	if len(except) > 0 {
		for _, name := range slices.Sorted(maps.Keys(n.m.nodes)) {
			if !slices.Contains(except, name) {
				return name
			}
		}
	}
	if o := n.view[id]; o != "" {
		return o
	}
	if o := n.m.owner[id]; o != "" {
		return o
	}
	return n.name
}

func (n *meshNode) Owns(kind, id string) bool { return n.Owner(kind, id) == n.name }

func (n *meshNode) HasOthers() bool {
	n.m.mu.Lock()
	defer n.m.mu.Unlock()
	return len(n.m.nodes) > 1
}

func (n *meshNode) Left(member string) bool {
	n.m.mu.Lock()
	defer n.m.mu.Unlock()
	return n.m.nodes[member] == nil
}

func (n *meshNode) Subscribe() (<-chan struct{}, func()) { return n.changed, func() {} }

func (n *meshNode) Send(member string, message []byte) {
	n.m.mu.Lock()
	defer n.m.mu.Unlock()
	n.m.letters++
	n.m.bytes += len(message)
	if strings.Contains(string(message), `"wake"`) {
		n.m.wakes++
	}
	to := n.m.nodes[member]
	if to == nil || n.m.lose != nil && n.m.lose(n.name, member) {
		return
	}
	select {
	case to.in <- [2]string{n.name, string(message)}:
	default:
	}
}

// place places a shard on a node, in all views.
func (m *mesh) place(shard, owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owner[shard] = owner
	for _, n := range m.nodes {
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
}

func (m *mesh) losing(f func(from, to string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = f
}

// listeners are many listeners of one shard on one node.
type listeners []<-chan struct{}

func listen(t testing.TB, s *actors.System, db actors.Database, n int, shards ...layer.ShardID) (list listeners) {
	t.Helper()
	for range n {
		ch, cancel := s.Listen(db, shards...)
		t.Cleanup(cancel)
		list = append(list, ch)
	}
	return list
}

func (l listeners) drain() {
	for _, ch := range l {
		drain(ch)
	}
}

func (l listeners) wake(t testing.TB, what string) {
	t.Helper()
	for _, ch := range l {
		receives(t, ch, what)
	}
}

// factsOf returns the facts of a node's only shard.
func factsOf(s *actors.System) (f feeds.ShardFacts) {
	for x := range s.Shards() {
		f = x.Look()
	}
	return f
}

func state(s *actors.System, shard string) string {
	for x := range s.Shards() {
		if x.Shard == shard {
			return x.State
		}
	}
	return "none"
}

// settled waits until the shards' actors are in these states, by node, and the store has this many watches.
func settled(t testing.TB, db *database, watches int, want map[*actors.System]string) {
	t.Helper()
	eventually(t, func() string {
		for s, w := range want {
			if got := state(s, "a"); got != w {
				return fmt.Sprintf("an actor is %s, not %s, with %d watches", got, w, db.armed())
			}
		}
		if n := db.armed(); n != watches {
			return fmt.Sprintf("%d watches, not %d", n, watches)
		}
		return ""
	})
}

// For listeners on three nodes there is one watch in the store. The other nodes are woken by one message each, and
// continue when the owner, the network or the placement fails.
func TestPeers_OneWatchForAllNodes(t *testing.T) {
	db := newDatabase("cities")
	store := newStore(t, db)
	m := newMesh()
	m.place("cities/a", "n1")
	s1, s2, s3 := m.startNode(t, store, "n1"), m.startNode(t, store, "n2"), m.startNode(t, store, "n3")
	const each = 200
	var all listeners
	for _, s := range []*actors.System{s2, s3, s1} {
		all = append(all, listen(t, s, db, each, "a")...)
	}
	owned := map[*actors.System]string{s1: "watching", s2: "following", s3: "following"}
	settled(t, db, 1, owned)
	eventually(t, func() string { // the first wakes may still be on their way
		all.drain()
		m.mu.Lock()
		before := m.wakes
		m.mu.Unlock()
		db.commit("a")
		all.wake(t, "a commit")
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.wakes - before; n != 2 {
			return fmt.Sprintf("%d messages wake the listeners of two other nodes", n)
		}
		return ""
	})
	if n := db.armed(); n > 1 {
		t.Errorf("%d watches", n)
	}

	t.Run("the owner falls silent", func(t *testing.T) {
		m.losing(func(from, _ string) bool { return from == "n1" })
		settled(t, db, 3, map[*actors.System]string{s2: "watching", s3: "watching"})
		all.drain()
		db.commit("a")
		all.wake(t, "a commit")
		m.losing(nil)
		settled(t, db, 1, owned)
	})
	t.Run("its messages are lost", func(t *testing.T) {
		m.losing(func(_, to string) bool { return to == "n1" })
		settled(t, db, 3, map[*actors.System]string{s2: "watching", s3: "watching"})
		m.losing(nil)
		settled(t, db, 1, owned)
	})
	t.Run("a wake is lost", func(t *testing.T) {
		all.drain()
		m.losing(func(_, to string) bool { return to == "n2" })
		db.commit("a")
		for _, ch := range all[each:] {
			receives(t, ch, "a commit")
		}
		m.losing(nil)
		all[:each].wake(t, "a commit whose message was lost")
	})
	t.Run("its store fails", func(t *testing.T) {
		settled(t, db, 1, owned)
		all.drain()
		db.set(func() { db.watches.fire("", errInjected) }) // the only armed watch is the owner's
		all.wake(t, "a failure")
		settled(t, db, 1, owned)
	})
	t.Run("the shard moves", func(t *testing.T) {
		m.place("cities/a", "n2")
		settled(t, db, 1, map[*actors.System]string{s1: "following", s2: "watching", s3: "following"})
		all.drain()
		db.commit("a")
		all.wake(t, "a commit")
		m.place("cities/a", "a member that is gone")
		settled(t, db, 3, map[*actors.System]string{s1: "watching", s2: "watching", s3: "watching"})
		m.place("cities/a", "n1")
		settled(t, db, 1, owned)
	})
	t.Run("two nodes each believe that the other one is the owner", func(t *testing.T) {
		m.mu.Lock()
		m.nodes["n1"].view["cities/a"] = "n2"
		m.nodes["n2"].view["cities/a"] = "n1"
		m.mu.Unlock()
		m.place("cities/a", "n1")
		eventually(t, func() string {
			if state(s1, "a") != "watching" && state(s2, "a") != "watching" {
				return "no node watches"
			}
			return ""
		})
		all.drain()
		db.commit("a")
		all.wake(t, "a commit")
	})
}

// The owner has no listeners of its own. Its actor ends when it has no followers any more.
func TestPeers_TheOwnerWatchesForOthers(t *testing.T) {
	db := newDatabase("cities")
	store := newStore(t, db)
	m := newMesh()
	m.place("cities/a", "n1")
	s1, s2 := m.startNode(t, store, "n1"), m.startNode(t, store, "n2")
	ch, cancel := s2.Listen(db, "a")
	settled(t, db, 1, map[*actors.System]string{s1: "watching", s2: "following"})
	drain(ch)
	db.commit("a")
	receives(t, ch, "a commit")
	if x := factsOf(s1); x.Node != "n1" || x.Followers != 1 || x.Listeners != 0 {
		t.Errorf("the owner's actor %+v", x)
	}
	if x := factsOf(s2); x.Node != "n1" || x.Followers != 0 || x.Listeners != 1 || x.Wakes == 0 {
		t.Errorf("the follower's actor %+v", x)
	}
	cancel()
	settled(t, db, 0, map[*actors.System]string{s1: "none", s2: "none"})
}

// A database that was deleted and created again is a different one: a follower of the old one is not woken for commits
// to the new one.
func TestPeers_AnotherDatabaseOfTheName(t *testing.T) {
	old, now := newDatabase("cities"), newDatabase("cities")
	now.number = 2
	store := newStore(t, now)
	m := newMesh()
	m.place("cities/a", "n1")
	s1, s2 := m.startNode(t, store, "n1"), m.startNode(t, store, "n2")
	ch, cancel := s2.Listen(old, "a")
	defer cancel()
	settled(t, old, 1, map[*actors.System]string{s1: "none", s2: "watching"})
	drain(ch)
	old.commit("a")
	receives(t, ch, "a commit")
}

// No commit is missed while messages are lost, nodes fall silent and the placement changes, with a random seed.
func TestPeers_NothingIsMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	db := newDatabase("cities")
	store := newStore(t, db)
	m := newMesh()
	names := []string{"n1", "n2", "n3"}
	systems := map[string]*actors.System{}
	for _, name := range names {
		systems[name] = m.startNode(t, store, name)
	}
	const commits = 400
	var readers sync.WaitGroup
	for _, s := range systems {
		for range 4 {
			readers.Go(func() {
				ch, cancel := s.Listen(db, "a")
				defer cancel()
				for db.at("a") < commits {
					select {
					case <-ch:
					case <-time.After(20 * time.Second):
						t.Errorf("a reader still waits at %d", db.at("a"))
						return
					}
				}
			})
		}
	}
	loss := rand.New(rand.NewPCG(seed, 1))
	silent := ""
	m.losing(func(from, to string) bool { return from == silent || to == silent || loss.IntN(10) == 0 })
	for range commits {
		switch random.IntN(40) {
		case 0:
			m.place("cities/a", names[random.IntN(3)])
		case 1:
			m.mu.Lock()
			silent = names[random.IntN(3)]
			m.mu.Unlock()
		case 2:
			m.mu.Lock()
			silent = ""
			m.mu.Unlock()
		}
		db.commit("a")
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
	}
	readers.Wait()
}

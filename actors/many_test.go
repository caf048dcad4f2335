package actors

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// numbered is a database of which nothing but its identity is asked.
type numbered struct {
	Database
	n int
}

// However many databases a node has, a change of one asks about that one alone.
func TestDatabasesBehavior_many(t *testing.T) {
	const databases = 1000
	all, asked := 0, map[Database]int{}
	b := &databasesBehavior{
		all: func() []Database { all++; return nil },
		inUse: func(db Database) bool {
			asked[db]++
			return asked[db] < 2
		},
		spec: func(Database) spec { return spec{kind: "database"} },
		open: map[string]Database{}, keys: map[Database]string{},
	}
	b.step(time.Time{}, started{})
	for i := range databases {
		e := b.step(time.Time{}, listenersChanged{numbered{n: i}})
		if len(e) != 1 {
			t.Fatalf("the actor of database %d was not started: %v", i, e)
		}
		b.step(time.Time{}, tasksChanged{numbered{n: i}})
	}
	if len(b.open) != databases {
		t.Fatalf("%d databases are open", len(b.open))
	}
	for key := range b.open {
		b.step(time.Time{}, childGone{key})
	}
	if len(b.open) != 0 || len(b.keys) != 0 {
		t.Errorf("%d databases are left", len(b.open))
	}
	if all != 1 {
		t.Errorf("all databases in use were listed %d times", all)
	}
	for db, n := range asked {
		if n != 2 {
			t.Errorf("it was asked %d times whether %v is in use", n, db)
		}
	}
}

// A look at the indexes of one database does not go through those of the others: what it would have forgotten of them
// is there until they are looked at themselves.
func TestBuilds_oneDatabase(t *testing.T) {
	const databases = 100
	b, now := newBuilds(), time.Now()
	for i := range databases {
		db := numbered{n: i}
		key := indexKey{db: db, signature: "s"}
		b.use(key, usedIndex{db: db, until: now})
		b.add(&task{key: key, job: layer.Job{Type: indexJobs}})
	}
	later := now.Add(time.Second)
	for i := range databases / 2 {
		db := numbered{n: i}
		if list := b.usedIn(db, later); len(list) != 0 {
			t.Fatalf("an index that nobody uses is kept: %v", list)
		}
		if list := b.listIn(db); len(list) != 1 || list[0].key.db != db {
			t.Fatalf("tasks of %v: %v", db, list)
		}
		if !b.has(db, later) {
			t.Fatal("a database with a task is not in use")
		}
		b.remove(b.listIn(db)[0])
		if b.has(db, later) {
			t.Fatal("a database without work is in use")
		}
	}
	if n := len(b.mu.of); n != databases/2 {
		t.Errorf("%d databases are looked after", n)
	}
	for _, w := range b.mu.of {
		if len(w.used) != 1 {
			t.Fatal("a look at one database has gone through another one")
		}
	}
	if n := b.count(indexJobs); n != databases/2 {
		t.Errorf("%d tasks are counted", n)
	}
	if n := len(b.used(now)); n != databases/2 {
		t.Errorf("%d indexes are used", n)
	}
	if n := len(b.databases(later)); n != databases/2 {
		t.Errorf("%d databases are in use", n)
	}
}

// Members tell by the numbers that they gave shards which they follow no more.
func TestExchange_forget(t *testing.T) {
	now := time.Now()
	x := newExchange(time.Second, now)
	shard := func(i int) shardKey { return shardKey{numbered{n: i}, "s"} }
	for i := range 10 {
		for _, member := range []string{"a", "b"} {
			x.remember(member, shard(i), guest{int64(i), now.Add(time.Minute)})
		}
	}
	x.remember("a", shard(3), guest{33, now.Add(time.Minute)}) // it began again
	if list := x.forget("a", []int64{3, 99}); len(list) != 0 {
		t.Errorf("forgotten by an old number: %v", list)
	}
	if list := x.forget("a", []int64{33, 4}); fmt.Sprint(list) != fmt.Sprint([]shardKey{shard(3), shard(4)}) {
		t.Errorf("forgotten: %v", list)
	}
	if f := x.facts(); f.Followed != 18 || f.Members != 2 {
		t.Errorf("%+v", f)
	}
	if _, gone := x.beat(now.Add(2 * time.Minute)); len(gone) != 18 {
		t.Errorf("%d are gone", len(gone))
	}
	if len(x.mu.in)+len(x.mu.inKeys) != 0 {
		t.Errorf("left: %v %v", x.mu.in, x.mu.inKeys)
	}
}

// A list for people shows no more than it is asked for, what is not well first, and says how many there are.
func TestTree_bounded(t *testing.T) {
	now := time.Now()
	s := &System{tree: newRecord(nil, "system", "", now)}
	root := newRecord(s.tree, "node", "n", now)
	root.attach()
	databases := newRecord(root, "databases", "", now)
	databases.attach()
	for i := range 100 {
		db := newRecord(databases, "database", fmt.Sprintf("db%02d", i), now)
		db.attach()
		shard := newRecord(db, shardKind, "1", now)
		shard.attach()
		if i == 99 {
			shard.failed(now, "panic")
		}
		if i == 98 {
			shard.set("backing off", ShardFacts{Error: "no store"})
		}
	}
	list := s.TreeOf(3).Children[0]
	var names []string
	for _, c := range list.Children {
		names = append(names, c.Name)
	}
	if want := []string{"db99", "db00", "db01"}; !slices.Equal(names, want) || list.Hidden != 97 {
		t.Errorf("shown are %q, and %d are hidden", names, list.Hidden)
	}
	if all := s.Tree().Children[0]; len(all.Children) != 100 || all.Hidden != 0 {
		t.Errorf("all are %d, %d hidden", len(all.Children), all.Hidden)
	}
	names = nil
	for _, x := range s.Shards(2) {
		names = append(names, x.Database)
	}
	if want := []string{"db00", "db98"}; !slices.Equal(names, want) || s.CountShards() != 100 {
		t.Errorf("shards of %q are shown, of %d", names, s.CountShards())
	}
}

// The guard looks at few of very many audiences each time, and all the same soon finds one whose actor hangs.
func TestHub_guardsMany(t *testing.T) {
	const databases = 4000
	h, now := newHub(), time.Unix(1000, 0)
	nobody := func(time.Time, shardKey) bool { return false }
	wakes := 0
	tick := func() (looked int) {
		now = now.Add(125 * time.Millisecond)
		looked, woken := h.wakeUnheard(now, 500*time.Millisecond, nobody)
		wakes += woken
		return looked
	}
	channels := make([]chan struct{}, databases)
	records := make([]*record, databases)
	for i := range databases {
		channels[i], records[i] = make(chan struct{}, 1), newRecord(nil, shardKind, "1", now)
		h.add(numbered{n: i}, "1", channels[i])
	}
	if looked := tick(); looked < databases {
		t.Fatalf("%d of %d audiences that nobody wakes were looked at", looked, databases)
	}
	for i := range databases {
		h.vouch(numbered{n: i}, "1", vouchWatched, records[i], now)
	}
	tick()
	if looked := tick(); looked > databases/guardRounds {
		t.Errorf("%d of %d audiences were looked at, and nothing had changed", looked, databases)
	}
	hangs := databases / 3
	records[hangs].begin(now)
	woken := 0
	for range 4 * guardRounds {
		tick()
		select {
		case <-channels[hangs]:
			woken++
		default:
		}
	}
	if woken < 3 || wakes < woken {
		t.Errorf("the listener of an actor that hangs was woken %d times in four seconds, %d were counted", woken,
			wakes)
	}
	for i := range databases {
		h.remove(numbered{n: i}, "1", channels[i])
	}
	if n := len(h.mu.round) + len(h.mu.doubtful); n != 0 {
		t.Errorf("%d audiences are guarded that are gone", n)
	}
	tick()
}

// What a member says again every beat, that it follows very many shards, gives the guard nothing to look at, and is
// answered as the first time.
func TestHub_followedAgain(t *testing.T) {
	const databases = 1000
	h, now := newHub(), time.Unix(1000, 0)
	nobody := func(time.Time, shardKey) bool { return false }
	follow := func(i, turn int) {
		t.Helper()
		f := follower{key: int64(i), turn: int64(turn)}
		st, first := h.follow(numbered{n: i}, "1", "n2", f, true, now)
		if !st.Watched || st.Key != f.key || st.Tally == "" || first != (turn == 1) {
			t.Fatalf("turn %d of shard %d: %+v, first: %v", turn, i, st, first)
		}
	}
	for i := range databases {
		h.add(numbered{n: i}, "1", make(chan struct{}, 1))
		h.vouch(numbered{n: i}, "1", vouchWatched, newRecord(nil, shardKind, "1", now), now)
		follow(i, 1)
	}
	h.wakeUnheard(now, time.Second, nobody)
	for turn := range 3 {
		for i := range databases {
			follow(i, turn+2)
		}
		if n := len(h.mu.doubtful); n != 0 {
			t.Fatalf("%d audiences are in doubt", n)
		}
	}
	// It is answered as of its newest turn where that changes, and is forgotten when it says so.
	tell := h.vouch(numbered{n: 5}, "1", vouchNothing, nil, now)
	if l := tell["n2"]; l.Answer != 4 || len(l.Standing) != 1 || l.Standing[0].Watched {
		t.Errorf("told %+v", tell)
	}
	if !h.unfollow(numbered{n: 5}, "1", "n2") || h.followers(numbered{n: 5}, "1") != 0 {
		t.Error("it follows still")
	}
}

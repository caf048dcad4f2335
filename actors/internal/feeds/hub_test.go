package feeds

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
)

// The guard checks only a few of very many shards each time, yet soon finds one whose actor hangs.
func TestHub_guardsMany(t *testing.T) {
	const databases = 4000
	h, now := newHub("life"), time.Unix(1000, 0)
	nobody := func(time.Time, shardKey) bool { return false }
	wakes := 0
	tick := func() (looked int) {
		now = now.Add(125 * time.Millisecond)
		looked, woken := h.wakeUnheard(now, 500*time.Millisecond, nobody)
		wakes += woken
		return looked
	}
	channels := make([]chan struct{}, databases)
	hang := make([]time.Time, databases) // when the actor began to work on its message
	for i := range databases {
		channels[i] = make(chan struct{}, 1)
		h.add(numbered{n: i}, "1", channels[i], listener{})
	}
	if looked := tick(); looked < databases {
		t.Fatalf("%d of %d shards without a waker were checked", looked, databases)
	}
	for i := range databases {
		h.report(numbered{n: i}, "1", stateWatched, since(&hang[i]), now)
	}
	tick()
	if looked := tick(); looked > databases/guardRounds {
		t.Errorf("%d of %d shards were checked although nothing had changed", looked, databases)
	}
	hangs := databases / 3
	hang[hangs] = now
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
		t.Errorf("the listener of a hung actor was woken %d times in four seconds, %d were counted", woken,
			wakes)
	}
	for i := range databases {
		h.remove(numbered{n: i}, "1", channels[i])
	}
	if n := guarded(h); n != 0 {
		t.Errorf("%d removed shards are still guarded", n)
	}
	tick()
}

// A member's beat that repeats very many followed shards makes the guard check nothing, and is answered like the first
// one.
func TestHub_followedAgain(t *testing.T) {
	const databases = 1000
	h, now := newHub("life"), time.Unix(1000, 0)
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
		h.add(numbered{n: i}, "1", make(chan struct{}, 1), listener{})
		h.report(numbered{n: i}, "1", stateWatched, nil, now)
		follow(i, 1)
	}
	h.wakeUnheard(now, time.Second, nobody)
	for turn := range 3 {
		for i := range databases {
			follow(i, turn+2)
		}
		if n := doubtful(h); n != 0 {
			t.Fatalf("%d shards are doubtful", n)
		}
	}
	// A change is reported to the follower with its newest turn, and a follower that unfollows is forgotten.
	tell := h.report(numbered{n: 5}, "1", stateNone, nil, now)
	if l := tell["n2"]; l.Answer != 4 || len(l.Positions) != 1 || l.Positions[0].Watched {
		t.Errorf("told %+v", tell)
	}
	if !h.unfollow(numbered{n: 5}, "1", "n2") || h.followers(numbered{n: 5}, "1") != 0 {
		t.Error("it still follows")
	}
}

// An actor that works on one message for a long time is not relied on, and listeners are woken by the guard meanwhile.
func TestHub_AStuckActor(t *testing.T) {
	db, start := namedDatabase{}, time.Unix(1000, 0)
	h := newHub("life")
	var hangs time.Time // when the actor began to work on its message
	ch := make(chan struct{}, 1)
	h.add(db, "a", ch, listener{})
	h.report(db, "a", stateWatched, since(&hangs), start)
	nobody := func(time.Time, shardKey) bool { return false }
	woken := func(at time.Duration) bool {
		h.wakeUnheard(start.Add(at), time.Second, nobody)
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	told := func(at time.Duration, reached bool) bool {
		st, _ := h.follow(db, "a", "n2", follower{key: 1}, reached, start.Add(at))
		return st.Watched
	}
	if !told(time.Second, true) || told(time.Second, false) {
		t.Error("a follower is not told that the actor watches if and only if the store can be reached")
	}
	hangs = start.Add(10 * time.Second)
	if !told(10*time.Second+armingLimit/2, true) || told(11*time.Second, true) {
		t.Error("a follower is told that a stuck actor watches")
	}
	for at, want := range []bool{10: false, 11: false, 12: true, 13: true} {
		if got := at >= 10 && woken(time.Duration(at)*time.Second); got != want {
			t.Errorf("woken at %d s: %v", at, got)
		}
	}
	hangs = time.Time{}
	if !told(14*time.Second, true) || woken(14*time.Second) || woken(16*time.Second) {
		t.Error("the actor is not relied on after it continued")
	}
	h.report(db, "a", stateNone, nil, start.Add(20*time.Second))
	if told(20*time.Second, true) || woken(20*time.Second) || !woken(21*time.Second) {
		t.Error("a failed actor is still relied on")
	}
}

// since returns how long an actor has been working, or zero if begun is zero.
func since(begun *time.Time) busy {
	return func(now time.Time) time.Duration {
		if begun.IsZero() {
			return 0
		}
		return now.Sub(*begun)
	}
}

// numbered is a database with only an identity.
type numbered struct {
	ports.Database
	n int
}

// namedDatabase is a database with only a name.
type namedDatabase struct{ ports.Database }

func (namedDatabase) Name() string { return "cities" }

// When all actors end, a node that follows very many of their shards is told in few messages, and each node in its own.
func TestHub_end(t *testing.T) {
	const shards = 2*maxAsks + 1
	h, now := newHub("life"), time.Unix(1000, 0)
	ch := make(chan struct{}, 1)
	for i := range shards {
		db := numbered{n: i}
		h.add(db, "1", ch, listener{})
		h.report(db, "1", stateWatched, nil, now)
		if st, _ := h.follow(db, "1", "n2", follower{key: int64(i), turn: 7}, true, now); !st.Watched {
			t.Fatal("a watched shard is not told to be watched")
		}
	}
	h.follow(numbered{n: 0}, "1", "n3", follower{key: 5, turn: 1}, true, now)
	h.follow(numbered{n: 1}, "1", "n3", follower{key: 6, turn: 2}, false, now) // was never told that it is watched
	told, messages := map[string]map[int64]bool{}, map[string]int{}
	for _, m := range h.end(now) {
		messages[m.to]++
		for _, p := range m.Positions {
			if p.Watched || m.Answer != map[string]int64{"n2": 7, "n3": 1}[m.to] || len(m.Positions) > maxAsks {
				t.Fatalf("told %s: answer %d with %d positions, %+v", m.to, m.Answer, len(m.Positions), p)
			}
			if told[m.to] == nil {
				told[m.to] = map[int64]bool{}
			}
			told[m.to][p.Key] = true
		}
	}
	if messages["n2"] != 3 || len(told["n2"]) != shards || messages["n3"] != 1 || !told["n3"][5] || len(messages) != 2 {
		t.Errorf("messages %v, shards told to n2 %d, to n3 %v", messages, len(told["n2"]), told["n3"])
	}
	if h.subscribers(numbered{n: 3}, "1").reliable(now) || len(h.end(now)) != 0 {
		t.Error("after the end something relies on an actor")
	}
}

// guarded returns how many shards the guard of a hub looks after.
func guarded(h *hub) (n int) {
	h.eachPart(func(p *hubPart) { n += len(p.round) + len(p.doubtful) })
	return n
}

// doubtful returns how many shards the guard of a hub looks at each time.
func doubtful(h *hub) (n int) {
	h.eachPart(func(p *hubPart) { n += len(p.doubtful) })
	return n
}

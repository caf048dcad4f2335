package feeds

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// A member names shards that it no longer follows by the numbers that it uses for them.
func TestExchange_forget(t *testing.T) {
	now := time.Now()
	x := newExchange(time.Second, now)
	shard := func(i int) shardKey { return shardKey{numbered{n: i}, "s"} }
	for i := range 10 {
		for _, member := range []string{"a", "b"} {
			x.remember(member, shard(i), memberKey{int64(i), now.Add(time.Minute)})
		}
	}
	x.remember("a", shard(3), memberKey{33, now.Add(time.Minute)}) // it follows the shard again
	if list := x.forget("a", []int64{3, 99}); len(list) != 0 {
		t.Errorf("an old number removed %v", list)
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
		t.Errorf("remaining: %v %v", x.mu.in, x.mu.inKeys)
	}
}

// numberedDatabase is a database with only a name and a number.
type numberedDatabase struct{ namedDatabase }

func (numberedDatabase) Number() int64 { return 1 }

// Listeners are woken as soon as another node covers a shard again, because what was committed meanwhile woke nobody,
// and the actor of the shard on this node may be between two lives.
func TestExchange_coveredAgain(t *testing.T) {
	now := time.Now()
	x := newExchange(time.Second, now)
	k := shardKey{numberedDatabase{}, "s"}
	x.follow(k, "owner")
	ask := x.tellNews(now)[0].message
	answer := func(to message) (woken int) {
		wake, _ := x.answered(now, "owner", &message{Answer: to.Turn,
			Positions: []position{{Key: ask.Follow[0].Key, Watched: true, Tally: "t"}}})
		return len(wake)
	}
	if n := answer(ask); n != 1 {
		t.Errorf("the first answer woke %d shards", n)
	}
	if n := answer(ask); n != 0 {
		t.Errorf("the same answer again woke %d shards", n)
	}
	now = now.Add((doubtBeats + 1) * time.Second)
	if list := x.lapse(now); len(list) != 1 {
		t.Fatalf("%d shards are not covered any more", len(list))
	}
	out, _ := x.beat(now)
	if n := answer(out[0].message); n != 1 {
		t.Errorf("the answer after a silence woke %d shards", n)
	}
}

// Shards that are followed or left at about the same time share messages.
func TestExchange_manyShareMessages(t *testing.T) {
	const databases, shards = 100, 64
	now := time.Now()
	x := newExchange(time.Second, now)
	each := func(f func(k shardKey) (first bool)) (firsts int) {
		for i := range databases {
			for j := range shards {
				if f(shardKey{named{numbered{n: i}}, layer.ShardID(fmt.Sprint(j))}) {
					firsts++
				}
			}
		}
		return firsts
	}
	most := databases*shards/maxAsks + 1
	if n := each(func(k shardKey) bool { return x.follow(k, "owner") }); n != 1 {
		t.Errorf("%d messages to the exchange's actor", n)
	}
	asked := 0
	out := x.tellNews(now)
	for _, m := range out {
		asked += len(m.Follow)
	}
	if asked != databases*shards || len(out) > most {
		t.Errorf("%d shards are asked for in %d messages", asked, len(out))
	}
	if out := x.tellNews(now); len(out) > 0 {
		t.Errorf("the same is told again: %v", out)
	}
	// A beat lists them by database.
	out, _ = x.beat(now)
	pairs := 0
	for _, m := range out {
		in := map[string]bool{}
		for _, q := range m.Follow {
			in[q.Database] = true
		}
		pairs += len(in)
	}
	if len(out) > most || pairs > databases+len(out) {
		t.Errorf("a beat has %d messages, with %d databases in all", len(out), pairs)
	}
	if n := each(x.unfollow); n != 1 {
		t.Errorf("%d messages to the exchange's actor", n)
	}
	left := 0
	out = x.tellNews(now)
	for _, m := range out {
		left += len(m.Unfollow)
	}
	if left != databases*shards || len(out) > most || !x.idle() {
		t.Errorf("%d shards are left in %d messages", left, len(out))
	}
	// What was left before it was told is not asked for.
	each(func(k shardKey) bool { return x.follow(k, "owner") })
	each(x.unfollow)
	for _, m := range x.tellNews(now) {
		if len(m.Follow) > 0 {
			t.Errorf("%d shards are asked for that were left", len(m.Follow))
		}
	}
}

// An answer about many shards of a database makes its actors check once.
func TestFeeds_changedOnce(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	changed := map[string]int{}
	f := New(runtime.NewTree(runtime.NewActorSystem(log), log), Options{Node: "n2", Peers: nobody{},
		Beat: time.Second, Changed: func(db ports.Database) { changed[db.Name()]++ }})
	for i := range 3 {
		for j := range 64 {
			f.exchange.follow(shardKey{named{numbered{n: i}}, layer.ShardID(fmt.Sprint(j))}, "owner")
		}
	}
	ask := f.exchange.tellNews(time.Now())[0]
	answer := message{Answer: ask.Turn}
	for _, q := range ask.Follow {
		answer.Positions = append(answer.Positions, position{Key: q.Key, Watched: true, Tally: "t"})
	}
	f.Receive("owner", answer.encode())
	if fmt.Sprint(changed) != "map[db0:1 db1:1 db2:1]" {
		t.Errorf("databases changed: %v", changed)
	}
}

// nobody is no other nodes.
type nobody struct{}

func (nobody) Owner(string, string, ...string) string { return "owner" }
func (nobody) Send(string, []byte)                    {}
func (nobody) Subscribe() (<-chan struct{}, func())   { return nil, func() {} }

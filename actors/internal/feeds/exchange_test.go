package feeds

import (
	"fmt"
	"testing"
	"time"
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
	ask := x.follow(now, k, "owner")[0].message
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

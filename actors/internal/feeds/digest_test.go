package feeds

import (
	"fmt"
	"testing"
	"time"
)

// named is a database with a name.
type named struct{ numbered }

func (d named) Name() string  { return fmt.Sprint("db", d.n) }
func (d named) Number() int64 { return int64(d.n) }

// follows returns an exchange that follows n shards of a node, which watches them with the tally "t".
func follows(now time.Time, n int) (*exchange, *message) {
	x := newExchange(time.Second, now)
	full := &message{Digests: true}
	for i := range n {
		x.follow(shardKey{named{numbered{n: i}}, "s"}, "owner")
	}
	full.Answer = x.tellNews(now)[0].Turn
	for key := range x.mu.byKey {
		full.Positions = append(full.Positions, position{Key: key, Watched: true, Tally: "t"})
	}
	x.answered(now, "owner", full)
	return x, full
}

// kind returns how an exchange tells what it follows.
func kind(t *testing.T, x *exchange, now time.Time) (string, message) {
	t.Helper()
	out, _ := x.beat(now)
	if len(out) != 1 || out[0].to != "owner" {
		t.Fatalf("a beat sends %+v", out)
	}
	switch m := out[0].message; {
	case m.Same != nil && m.Follow == nil:
		return "digest", m
	case m.Same == nil && m.Follow != nil:
		return fmt.Sprint(len(m.Follow), " shards"), m
	default:
		t.Fatalf("%+v", m)
		return "", m
	}
}

// A node tells another one in full what it follows there until that has said that it understands digests and watches
// everything, and again when a digest differs.
func TestExchange_digest(t *testing.T) {
	now := time.Now()
	x, full := follows(now, 3)
	rest := digest{}
	for _, p := range full.Positions {
		rest.add(p.Key, p.Tally)
	}
	at := now
	beat := func(want string) message {
		t.Helper()
		at = at.Add(time.Second)
		got, m := kind(t, x, at)
		if got != want {
			t.Errorf("after %v: a beat has %s, not %s", at.Sub(now), got, want)
		}
		return m
	}
	for range 10 {
		m := beat("digest")
		x.answered(at, "owner", &message{Answer: m.Turn, Digests: true, Rest: &rest})
		if list := x.lapse(at.Add(time.Second)); len(list) > 0 {
			t.Fatalf("a digest that agrees does not count: %v", list)
		}
	}
	// A wake was lost: the digest differs, and does not count.
	m := beat("digest")
	wrong := rest
	wrong.Sum++
	x.answered(at, "owner", &message{Answer: m.Turn, Digests: true, Rest: &wrong})
	m = beat("3 shards")
	for i := range full.Positions {
		full.Positions[i].Tally = "u"
	}
	wake, _ := x.answered(at, "owner", &message{Answer: m.Turn, Digests: true, Positions: full.Positions})
	if len(wake) != 3 {
		t.Errorf("the list wakes %d shards", len(wake))
	}
	// Named shards are not in the digest.
	m = beat("digest")
	rest = digest{}
	rest.add(full.Positions[0].Key, "u")
	named := []position{{Key: full.Positions[1].Key, Watched: true, Tally: "v"},
		{Key: full.Positions[2].Key, Watched: true, Tally: "u"}}
	wake, _ = x.answered(at, "owner", &message{Answer: m.Turn, Digests: true, Rest: &rest, Positions: named})
	if len(wake) != 1 {
		t.Errorf("a named shard with another tally wakes %d shards", len(wake))
	}
	// The owner has forgotten everything, as after a restart.
	m = beat("digest")
	x.answered(at, "owner", &message{Answer: m.Turn, Digests: true, Whole: true})
	beat("3 shards")
	// It does not answer, so nothing is covered.
	at = at.Add(10 * time.Second)
	x.lapse(at)
	beat("3 shards")
	beat("3 shards")

	old, answer := follows(now, 3)
	old.mu.digests["owner"] = false // an owner of an earlier version
	if got, _ := kind(t, old, now); got != "3 shards" {
		t.Errorf("an owner that has answered %+v is told %s", answer, got)
	}
}

// A node knows what another one follows by its digest, or asks for the list.
func TestExchange_same(t *testing.T) {
	now := time.Now()
	x := newExchange(time.Second, now)
	var d digest
	for i := range 3 {
		x.remember("a", shardKey{numbered{n: i}, "s"}, memberKey{int64(i), now})
		d.add(int64(i), "")
	}
	later := func(k memberKey) memberKey { return memberKey{k.key, now.Add(time.Minute)} }
	if list, ok := x.same("a", d, later); !ok || len(list) != 3 {
		t.Errorf("the same digest: %v", list)
	}
	if _, gone := x.beat(now.Add(time.Second)); len(gone) > 0 {
		t.Errorf("a digest does not count as a sign of life: %v", gone)
	}
	if _, ok := x.same("b", d, later); ok {
		t.Error("a member that follows nothing here has the same digest")
	}
	x.forget("a", []int64{1})
	if _, ok := x.same("a", d, later); ok {
		t.Error("the digest is the same after a shard is gone")
	}
}

// One of very many shards that is not covered is listed alone, and the digest keeps the others covered.
func TestExchange_oneUncovered(t *testing.T) {
	now := time.Now()
	x, full := follows(now, 3*maxAsks/4)
	now = now.Add(time.Second)
	one := full.Positions[7].Key
	x.answered(now, "owner", &message{Answer: full.Answer, Digests: true, Positions: []position{{Key: one}}})
	out, _ := x.beat(now)
	if len(out) != 2 || len(out[0].Follow) != 1 || out[0].Follow[0].Key != one || out[1].Same == nil {
		t.Fatalf("a beat with one shard that is not covered sends %+v", out)
	}
	rest := digest{}
	for _, p := range full.Positions {
		if p.Key != one {
			rest.add(p.Key, p.Tally)
		}
	}
	x.answered(now, "owner", &message{Answer: out[1].Turn, Digests: true, Rest: &rest, Positions: []position{{Key: one}}})
	later := now.Add(doubtBeats * time.Second)
	if list := x.lapse(later); len(list) > 0 {
		t.Errorf("%d shards are no longer covered", len(list))
	}
	for _, p := range full.Positions {
		if k := x.mu.byKey[p.Key].shardKey; x.covered(later, k, "owner") != (p.Key != one) {
			t.Errorf("shard %v is covered: %v", k, p.Key == one)
		}
	}
}

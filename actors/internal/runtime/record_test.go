package runtime

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The pauses before restarts grow while failures follow each other, and are reset after a while.
func TestRecord_Failed(t *testing.T) {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	now := time.Unix(1000, 0)
	var last time.Duration
	for i := range 20 {
		pause := r.failed(now.Add(time.Duration(i)*time.Second), "again")
		switch {
		case i == 0 && pause != 0:
			t.Errorf("the first failure waits %v", pause)
		case i > 0 && (pause < last || pause == 0 || pause > 5*time.Second):
			t.Errorf("failure %d waits %v after %v", i, pause, last)
		}
		last = pause
	}
	if pause := r.failed(now.Add(time.Hour), "later"); pause != 0 {
		t.Errorf("a failure an hour later waits %v", pause)
	}
	for at, want := range map[time.Duration]int{19 * time.Second: 20, FailureWindow + 9*time.Second: 11,
		FailureWindow + time.Minute: 0} {
		if n, reason := recordWith(20).failures(now.Add(at)); n != want || reason != "again" {
			t.Errorf("after %v: %d failures (%s), want %d", at, n, reason, want)
		}
	}
	if n := r.Snapshot(); n.Restarts != 21 || n.LastFailure != "later" || n.State != stateRestarting {
		t.Errorf("snapshot %+v", n)
	}
}

// recordWith returns an actor that has failed this often, once a second.
func recordWith(failures int) *Record {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	for i := range failures {
		r.failed(time.Unix(1000+int64(i), 0), "again")
	}
	return r
}

// The actors can be gone through in parts, each of which costs only what it has. What is there all the time is in one
// of them, once, even if actors at which a part begins have ended meanwhile.
func TestTree_Each(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	defer tree.End()
	add := func(parent *Record, kind, name string) *Record {
		r := newRecord(parent, kind, name, tree.Now())
		r.attach()
		return r
	}
	databases := add(add(tree.top, "node", "n1"), "databases", "")
	stays := map[string]bool{"node:n1": true, databases.ID: true}
	var ends []*Record
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 700 {
		name := fmt.Sprint("db", i)
		if i%7 == 0 {
			name = fmt.Sprintf("db%d/sub", i/7) // sorts before some shards of db%d, as an id
		}
		db := add(databases, "database", name)
		stays[db.ID] = true
		for s := range random.IntN(4) {
			shard := add(db, "shard", fmt.Sprint(s))
			stays[shard.ID] = true
		}
		if i%3 == 0 {
			ends = append(ends, add(databases, "database", fmt.Sprintf("db%d-gone", i)))
			ends = append(ends, add(ends[len(ends)-1], "shard", "0"))
		}
	}
	var whole []string
	if at := tree.Each(nil, func(n Node, parent string, _ int) bool {
		whole = append(whole, n.ID)
		if n.ID == "node:n1" != (parent == "") || !strings.HasPrefix(n.ID, parent) {
			t.Fatalf("%s is below %q", n.ID, parent)
		}
		return true
	}); at != nil || len(whole) != len(stays)+len(ends) {
		t.Fatalf("%d actors, and it stopped at %q", len(whole), at)
	}
	var parts []string
	var at Place
	for first := true; first || at != nil; first = false {
		most := 1 + random.IntN(20)
		visited := 0
		at = tree.Each(at, func(n Node, _ string, _ int) bool {
			visited++
			parts = append(parts, n.ID)
			return visited < most
		})
		if visited > most {
			t.Fatalf("%d visits for %d actors", visited, most)
		}
	}
	if !slices.Equal(parts, whole) {
		t.Errorf("parts have %d actors, the whole %d, or another order", len(parts), len(whole))
	}
	seen := map[string]int{}
	for first := true; first || at != nil; first = false {
		at = tree.Each(at, func(n Node, _ string, _ int) bool {
			seen[n.ID]++
			return strings.Contains(n.ID, "db") && !strings.Contains(n.ID, "gone") // stops at each that ends
		})
		if at != nil {
			for _, r := range ends {
				if i := len(at) - 1; r.ID == at[i] || i > 0 && r.ID == at[i-1] { // with its parent, if that ends too
					r.detach()
				}
			}
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was visited %d times", id, n)
		}
	}
	for id := range stays {
		if seen[id] != 1 {
			t.Errorf("%s was left out", id)
		}
	}
}

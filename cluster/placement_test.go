package cluster

import (
	"fmt"
	"testing"
)

func TestPlace(t *testing.T) {
	trio := []Member{{Name: "node-1"}, {Name: "node-2"}, {Name: "node-3"}}
	const ids = 3000
	owners := func(members []Member) map[string]string {
		m := map[string]string{}
		for i := range ids {
			id := fmt.Sprintf("db-%d/shard-%d", i/8, i%8)
			o, ok := place(members, "shard", id)
			if !ok {
				t.Fatal("no owner")
			}
			m[id] = o.Name
		}
		return m
	}
	before := owners(trio)
	count := map[string]int{}
	for _, o := range before {
		count[o]++
	}
	for name, n := range count {
		// 77 is three standard deviations of 1,000 throws of a fair die.
		if n < 920 || n > 1080 {
			t.Errorf("%s has %d of %d", name, n, ids)
		}
	}
	after := owners(trio[:2])
	for id, o := range before {
		if o != "node-3" && after[id] != o {
			t.Fatalf("%s moved from %s to %s when node-3 left", id, o, after[id])
		}
	}
	if _, ok := place(nil, "shard", "x"); ok {
		t.Error("an owner without members")
	}
}

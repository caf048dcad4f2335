package actors

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// A list for people shows no more than it is asked for, what is not well first, and says how many there are.
func TestTree_bounded(t *testing.T) {
	now := time.Now()
	tree := newTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	defer tree.kinds.close()
	f := &feeds{tree: tree}
	root := newRecord(tree.top, "node", "n", now)
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
	list := tree.snapshot(3).Children[0]
	var names []string
	for _, c := range list.Children {
		names = append(names, c.Name)
	}
	if want := []string{"db99", "db00", "db01"}; !slices.Equal(names, want) || list.Hidden != 97 {
		t.Errorf("shown are %q, and %d are hidden", names, list.Hidden)
	}
	if all := tree.snapshot(0).Children[0]; len(all.Children) != 100 || all.Hidden != 0 {
		t.Errorf("all are %d, %d hidden", len(all.Children), all.Hidden)
	}
	names = nil
	for _, x := range f.shards(2) {
		names = append(names, x.Database)
	}
	if want := []string{"db00", "db98"}; !slices.Equal(names, want) || f.countShards() != 100 {
		t.Errorf("shards of %q are shown, of %d", names, f.countShards())
	}
}

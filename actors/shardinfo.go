package actors

import (
	"slices"
	"strings"
)

// ShardInfo is a changes shard that somebody listens to on this node.
type ShardInfo struct {
	Database string `json:"database"`
	Shard    string `json:"shard"`
	State    string `json:"state"`
	ShardFacts
}

// shards lists changes shards that are watched on this node, by database: no more than most, those first whose actors
// have an error.
func (f *feeds) shards(most int) []ShardInfo {
	all := f.tree.ofKind(shardKind)
	byName := func(a, b *record) int { return strings.Compare(a.id, b.id) }
	slices.SortFunc(all, func(a, b *record) int {
		if x, y := troubled(a), troubled(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return byName(a, b)
	})
	shown := all[:min(len(all), most)]
	slices.SortFunc(shown, byName)
	list := []ShardInfo{}
	for _, r := range shown {
		n := r.snapshot(f.tree.now(), 0)
		facts, _ := n.Facts.(ShardFacts) // none while it starts
		list = append(list, ShardInfo{Database: r.parent.name, Shard: n.Name, State: n.State, ShardFacts: facts})
	}
	return list
}

// countShards is how many changes shards are watched on this node.
func (f *feeds) countShards() int { return len(f.tree.ofKind(shardKind)) }

// troubled reports whether a shard's actor has an error.
func troubled(r *record) bool {
	facts, ok := r.factsNow().(ShardFacts)
	return ok && facts.Error != ""
}

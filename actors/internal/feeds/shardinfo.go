package feeds

import (
	"slices"
	"strings"

	"github.com/divandb/divan/actors/internal/runtime"
)

// ShardInfo is a changes shard that has listeners on this node.
type ShardInfo struct {
	Database string `json:"database"`
	Shard    string `json:"shard"`
	State    string `json:"state"`
	ShardFacts
}

// Shards lists the changes shards that are watched on this node, by database: at most most of them, and first those
// whose actors have an error.
func (f *Feeds) Shards(most int) []ShardInfo {
	all := f.tree.OfKind(ShardKind)
	byName := func(a, b *runtime.Record) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(all, func(a, b *runtime.Record) int {
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
		n := r.Snapshot()
		facts, _ := n.Facts.(ShardFacts) // empty while it starts
		list = append(list, ShardInfo{Database: r.Parent.Name, Shard: n.Name, State: n.State, ShardFacts: facts})
	}
	return list
}

// troubled reports whether a shard's actor has an error.
func troubled(r *runtime.Record) bool {
	facts, ok := r.FactsNow().(ShardFacts)
	return ok && facts.Error != ""
}

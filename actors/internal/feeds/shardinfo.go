package feeds

import (
	"iter"

	"github.com/divandb/divan/actors/internal/runtime"
)

// ShardInfo is a changes shard that has listeners on this node.
type ShardInfo struct {
	Database, Shard, State string
	// Look returns the rest. Nobody calls it for shards that are not shown, because it takes long for very many.
	Look func() ShardFacts
}

// Shards returns the changes shards that are watched on this node, in any order.
func (f *Feeds) Shards() iter.Seq[ShardInfo] {
	return func(yield func(ShardInfo) bool) {
		f.tree.EachOfKind(ShardKind, func(n runtime.Node, parent string) bool {
			return yield(ShardInfo{Database: parent, Shard: n.Name, State: n.State, Look: func() ShardFacts {
				facts, _ := n.Look().(ShardFacts) // empty while it starts
				return facts
			}})
		})
	}
}

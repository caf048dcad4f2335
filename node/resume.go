package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors"
)

// Which indexes are in use, and so are kept warm, is known only to the nodes that were asked for them. When such a node
// has ended, this one or another, nobody keeps them warm any more. The node that a database belongs on then finds them
// by what they lack: an index that lacks only recent changes was up to date a while ago, and is no longer.

// resumeAfter is how long an index lacks changes before it is resumed. One that is kept warm lacks them for less.
const resumeAfter = 5 * time.Second

// resuming says since when this node has looked for indexes to resume.
type resuming struct{ from atomic.Pointer[time.Time] }

// begin tells that indexes may have been in use on a node that has ended.
func (r *resuming) begin() {
	now := time.Now()
	r.from.Store(&now)
}

// watch returns what looks at the indexes of a database that have been read, and keeps those warm that somebody has
// used lately and that nobody keeps warm.
func (r *resuming) watch(n *Node) func(context.Context, []actors.IndexInfo) {
	store, system := n.store, n.actors
	return func(ctx context.Context, indexes []actors.IndexInfo) {
		from := r.from.Load()
		if from == nil || time.Since(*from) > actors.WarmFor {
			return
		}
		for _, ix := range indexes {
			if ix.Behind < resumeAfter || ix.Behind > actors.WarmFor ||
				!n.cluster.Owns(actors.DatabaseKind, ix.Database) {
				continue
			}
			db, err := store.Database(ctx, ix.Database)
			if err != nil {
				return // deleted, or the store does not answer
			}
			if d, err := db.Design(ctx, ix.Design); err == nil {
				system.Resume(actors.Of(db), d, *from)
			}
		}
	}
}

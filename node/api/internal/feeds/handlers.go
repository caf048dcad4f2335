package feeds

import (
	"sync/atomic"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer with changes, and requests about shards of the feed.
type Handlers struct {
	Feeds    Feeds
	Scripts  *script.Sandbox // nil: feeds have no filter functions
	Settings *settings.Settings
	Closing  <-chan struct{} // closed to end waiting feeds
	// Resharded, if set, is called after each reshard. It must not block.
	Resharded func(database string, shards int, user string)

	// Waiting is the number of feeds that have waited for changes and not ended. The caller of Changes subtracts those
	// whose request has Waited, when the request ends.
	Waiting atomic.Int64

	tails feedTails
}

// Feeds wakes waiting feeds (clause C7) with one watch per shard and node, for any number of listeners.
type Feeds interface {
	// Listen registers a listener. After every commit of an entry in one of the shards that happens after Listen
	// returned, and after a reshard or the deletion of the database, the channel (capacity 1) receives a value. Several
	// wake-ups may be combined, and spurious ones are allowed. The caller reads the feed after Listen, and calls cancel
	// when it stops waiting.
	Listen(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

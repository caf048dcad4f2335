package feeds

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer with changes, and for the shards of the feed.
type Handlers struct {
	Feeds    Feeds
	Scripts  *script.Sandbox // nil: feeds have no filter functions
	Settings *settings.Settings
	Closing  <-chan struct{} // feeds that wait end when it is closed

	tails feedTails
}

// Feeds wakes feeds that wait (clause C7): one watcher per shard and node, any number of listeners.
type Feeds interface {
	// Listen registers a listener. After every commit of an entry in one of the shards that happens after Listen
	// returned, and after a reshard or the deletion of the database, a value is in the channel (capacity 1, several
	// wakes may be one; a wake without reason is allowed). The caller reads the feed after Listen and calls cancel when
	// it stops waiting.
	Listen(db *layer.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

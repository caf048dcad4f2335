package databases

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer for whole databases.
type Handlers struct {
	Store    *layer.Store
	Settings *settings.Settings
	// Closed reports whether any admin is configured: new databases are then for admins only.
	Closed func() bool
	// Shards is how many changes shards a database gets where ?changes_shards= is not given.
	Shards int
	// Spool is a directory for databases that are being imported; empty is the system's.
	Spool string
	// Imported is told of a database that was imported. It must not block.
	Imported func()
}

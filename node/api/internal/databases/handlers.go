package databases

import (
	"log/slog"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer for whole databases.
type Handlers struct {
	Store    *layer.Store
	Settings *settings.Settings
	// Closed reports whether any admin is configured. If so, new databases are for admins only.
	Closed func() bool
	// Shards is how many changes shards a database gets without ?changes_shards=.
	Shards int
	// Spool is a directory for databases being imported. Empty means the system's default.
	Spool string
	// Imported is called after a database was imported. It must not block.
	Imported func()
	Log      *slog.Logger
}

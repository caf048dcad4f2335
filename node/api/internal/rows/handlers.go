package rows

import (
	"context"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer with rows of documents and views.
type Handlers struct {
	Indexer  Indexer
	Settings *settings.Settings
}

// UpdateMode is how up to date an index must be: ?update=.
type UpdateMode int

// The modes.
const (
	UpdateTrue  UpdateMode = iota // reflects every write acknowledged before the request
	UpdateFalse                   // the current state
	UpdateLazy                    // the current state, updated afterwards
)

// Indexer brings indexes up to date (actors.EnsureIndexed).
type Indexer interface {
	// Ensure blocks until the design's index is as mode asks, or ctx ends (Timeout). UpdateLazy and UpdateFalse do not
	// wait.
	Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode UpdateMode) error
	// Use records that the index was asked for, so that it is kept warm. Ensure does so too. It does not block.
	Use(db *layer.Database, design *layer.Design)
	// Waiting returns how many requests wait in Ensure on this node. It does not block.
	Waiting(db *layer.Database, design *layer.Design) int
}

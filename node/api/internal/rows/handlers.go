package rows

import (
	"context"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer with rows: lists of documents and views.
type Handlers struct {
	Indexer  Indexer
	Settings *settings.Settings
}

// UpdateMode is how fresh an index has to be: ?update=.
type UpdateMode int

// The modes.
const (
	UpdateTrue  UpdateMode = iota // reflects every write acknowledged before the request
	UpdateFalse                   // as it stands
	UpdateLazy                    // as it stands, and brought up to date afterwards
)

// Indexer brings indexes up to date (actors.EnsureIndexed).
type Indexer interface {
	// Ensure blocks until the design's index is as mode wants it, or ctx ends (Timeout). UpdateLazy and UpdateFalse do
	// not wait.
	Ensure(ctx context.Context, db *layer.Database, design *layer.Design, mode UpdateMode) error
	// Use notes that somebody asks for the index, which is kept warm then. It does not block; Ensure does it too.
	Use(db *layer.Database, design *layer.Design)
	// Waiting is how many requests wait in Ensure on this node. It does not block.
	Waiting(db *layer.Database, design *layer.Design) int
}

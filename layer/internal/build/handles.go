package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
)

// Database is what this room adds to db.Database.
type Database struct{ *db.Database }

// Of returns what this room adds to d.
func Of(d *db.Database) Database { return Database{d} }

// Index adds the operations of this package to index.Index.
type Index struct{ *index.Index }

// OfIndex returns ix with the operations of this package.
func OfIndex(ix *index.Index) Index { return Index{ix} }

package build

import "github.com/divandb/divan/layer/internal/index"

// Index is what this room adds to index.Index.
type Index struct{ *index.Index }

// OfIndex returns what this room adds to ix.
func OfIndex(ix *index.Index) Index { return Index{ix} }

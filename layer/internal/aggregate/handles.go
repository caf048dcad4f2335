package aggregate

import "github.com/divandb/divan/layer/internal/index"

// Index adds the operations of this package to index.Index.
type Index struct{ *index.Index }

// OfIndex returns ix with the operations of this package.
func OfIndex(ix *index.Index) Index { return Index{ix} }

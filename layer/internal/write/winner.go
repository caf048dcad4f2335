package write

import "github.com/divandb/divan/layer/internal/rev"

// winner returns the new winner.
func (pl *plan) winner() *rev.LeafKV {
	if pl.hasAdded && (pl.other == nil || pl.added.Order(pl.other) > 0) {
		return &pl.added
	}
	return pl.other
}

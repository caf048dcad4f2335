package layer

import (
	"math"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/query"
)

// databasesAside is how many databases a Store from Aside keeps in memory.
const databasesAside = 64

// Aside returns a Store for reading the same databases one after the other. It uses what s has in memory, but adds
// nothing: going through all databases would evict there what is in use, and take tens of megabytes. The caller does
// not close it, and uses it no longer than s.
func (s *Store) Aside() *Store {
	o := s.o
	o.ReadOnly, o.Owner = true, false
	aside := newStore(s.Engine, o)
	aside.Known = db.NewCores(databasesAside)
	aside.fillSlots(design.StateOf(s.Store).Aside(), query.StateOf(s.Store))
	aside.stop = func() {}
	aside.AtMoment(s.Store, math.MaxInt64)
	return aside
}

package jobs

import "github.com/divandb/divan/layer/internal/db"

// Store adds the operations of this package to db.Store.
type Store struct{ *db.Store }

// OfStore returns s with the operations of this package.
func OfStore(s *db.Store) Store { return Store{s} }

package check

import "github.com/divandb/divan/layer/internal/db"

// Store is what this room adds to db.Store.
type Store struct{ *db.Store }

// OfStore returns what this room adds to s.
func OfStore(s *db.Store) Store { return Store{s} }

package export

import "github.com/divandb/divan/layer/internal/db"

// Store adds the operations of this package to db.Store.
type Store struct{ *db.Store }

// OfStore returns s with the operations of this package.
func OfStore(s *db.Store) Store { return Store{s} }

// Database adds the operations of this package to db.Database.
type Database struct{ *db.Database }

// Of returns d with the operations of this package.
func Of(d *db.Database) Database { return Database{d} }

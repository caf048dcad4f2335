package index

import "github.com/divandb/divan/layer/internal/db"

// Database adds the operations of this package to db.Database.
type Database struct{ *db.Database }

// Of returns d with the operations of this package.
func Of(d *db.Database) Database { return Database{d} }

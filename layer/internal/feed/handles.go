package feed

import "github.com/divandb/divan/layer/internal/db"

// Database is what this room adds to db.Database.
type Database struct{ *db.Database }

// Of returns what this room adds to d.
func Of(d *db.Database) Database { return Database{d} }

package layer

import (
	"context"
	"io"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/partition"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
)

// Each package below layer/internal has its own type for a store, a database or an index: a pointer to the shared
// object, with the methods of that package. This file combines these types.
type (
	jobStore     = jobs.Store
	compactStore = compact.Store
	checkStore   = check.Store
	exportStore  = export.Store

	revDatabase     = rev.Database
	feedDatabase    = feed.Database
	designDatabase  = design.Database
	attachDatabase  = attach.Database
	writeDatabase   = write.Database
	listDatabase    = alldocs.Database
	partDatabase    = partition.Database
	compactDatabase = compact.Database
	exportDatabase  = export.Database
	indexDatabase   = index.Database
	buildDatabase   = build.Database

	aggregateIndex = aggregate.Index
	buildIndex     = build.Index
	queryIndex     = query.Index
)

// Database is a handle of a database. Handles are cheap and need not be closed. All methods are safe for concurrent
// use, and return an error of kind NotFound after the database has been deleted, even if another one with the same name
// has been created.
type Database struct {
	*db.Database
	revDatabase
	feedDatabase
	designDatabase
	attachDatabase
	writeDatabase
	listDatabase
	partDatabase
	compactDatabase
	exportDatabase
	indexDatabase
	buildDatabase
}

func open(d *db.Database) *Database {
	return &Database{
		d, rev.Of(d), feed.Of(d), design.Of(d), attach.Of(d), write.Of(d), alldocs.Of(d), partition.Of(d),
		compact.Of(d), export.Of(d), index.Of(d), build.Of(d),
	}
}

// opened calls open with the result of a call.
func opened(d *db.Database, err error) (*Database, error) {
	if err != nil {
		return nil, err
	}
	return open(d), nil
}

// Shared returns the one shared handle of this database, always the same pointer while the database is in the node's
// cache. Code that compares handles to find out whether they refer to the same database uses shared handles.
func (d *Database) Shared() *Database {
	return d.Database.Kept(func(shared *db.Database) any { return open(shared) }).(*Database)
}

// Index returns the index of a design. It does no I/O; the index may be empty.
func (d *Database) Index(of *Design) *Index {
	ix := index.Of(d.Database).Index(of)
	return &Index{ix, aggregate.OfIndex(ix), build.OfIndex(ix), query.OfIndex(ix)}
}

// Indexes returns the indexes of the design documents that have views, in the order of Designs. It does not read them.
func (d *Database) Indexes(ctx context.Context) (list []*Index, err error) {
	designs, err := d.Designs(ctx)
	for _, of := range designs {
		if len(of.Views) > 0 {
			list = append(list, d.Index(of))
		}
	}
	return list, err
}

// Index is the stored index of a design document's views. All design documents with the same signature share it (V1).
type Index struct {
	*index.Index
	aggregateIndex
	buildIndex
	queryIndex
}

// Database opens a database by name. It returns NotFound (reason "Database does not exist.") if there is none. If the
// database is in the Store's cache, this costs no read: the first transaction checks whether it still has that name.
func (s *Store) Database(ctx context.Context, name string) (*Database, error) {
	return opened(s.Store.Database(ctx, name))
}

// Create creates a database. It returns Exists if there is one, and Invalid (illegal_database_name) for names that
// CouchDB would reject.
func (s *Store) Create(ctx context.Context, name string, o CreateOptions) (*Database, error) {
	return opened(s.Store.Create(ctx, name, o))
}

// Import creates a database from an export (export.Store.Import).
func (s *Store) Import(ctx context.Context, name string, r io.ReadSeeker) (*Database, error) {
	return opened(s.exportStore.Import(ctx, name, r))
}

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
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
)

// Every room below layer/internal has its own view of a store, of a database or of an index: a pointer to what all of
// them share, with the methods that the room is there for. The types of this file put the views together.
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
	compactDatabase = compact.Database
	exportDatabase  = export.Database
	indexDatabase   = index.Database

	aggregateIndex = aggregate.Index
	buildIndex     = build.Index
	queryIndex     = query.Index
)

// Database is one open database. Handles are cheap and need no closing; all methods are safe for concurrent use and
// return an error of kind NotFound once the database was deleted, also when one of the same name was created since.
type Database struct {
	*db.Database
	revDatabase
	feedDatabase
	designDatabase
	attachDatabase
	writeDatabase
	listDatabase
	compactDatabase
	exportDatabase
	indexDatabase
}

func open(d *db.Database) *Database {
	return &Database{
		d, rev.Of(d), feed.Of(d), design.Of(d), attach.Of(d), write.Of(d), alldocs.Of(d), compact.Of(d), export.Of(d),
		index.Of(d),
	}
}

// opened is open of what a call has answered.
func opened(d *db.Database, err error) (*Database, error) {
	if err != nil {
		return nil, err
	}
	return open(d), nil
}

// Shared is the one handle that stands for this database and no other, the same pointer each time while the node has
// the database cached: handles that are compared, to know whether they mean the same database, are shared ones.
func (d *Database) Shared() *Database {
	return d.Database.Kept(func(shared *db.Database) any { return open(shared) }).(*Database)
}

// Index of a design. It does no I/O; the index may be empty.
func (d *Database) Index(of *Design) *Index {
	ix := index.Of(d.Database).Index(of)
	return &Index{ix, aggregate.OfIndex(ix), build.OfIndex(ix), query.OfIndex(ix)}
}

// Index is the stored index of a design document's views, shared by all design documents with the same signature (V1).
type Index struct {
	*index.Index
	aggregateIndex
	buildIndex
	queryIndex
}

// Database opens a database by name. NotFound (reason "Database does not exist.") if there is none. It costs no read
// when the database is in the Store's cache; the first transaction finds out whether it still is the one of that name.
func (s *Store) Database(ctx context.Context, name string) (*Database, error) {
	return opened(s.Store.Database(ctx, name))
}

// Create makes a database. Exists if there is one; Invalid (name illegal_database_name) for a name CouchDB would
// refuse.
func (s *Store) Create(ctx context.Context, name string, o CreateOptions) (*Database, error) {
	return opened(s.Store.Create(ctx, name, o))
}

// Import makes a database of an export (export.Store.Import).
func (s *Store) Import(ctx context.Context, name string, r io.ReadSeeker) (*Database, error) {
	return opened(s.exportStore.Import(ctx, name, r))
}

// Package layer is the document database: databases, documents, revisions, changes, shards, views, jobs, attachments, local documents and
// security over a kv.Engine. It knows nothing of HTTP, SQL, actors or which engine it runs on. One file and one transaction
// function per operation.
//
// Truth lives in the store's transactions. What a Store or Database keeps in memory is a cache that every transaction checks against the
// database's stamp key (keyspace.Stamp).
package layer

import (
	"context"
	"iter"
	"log/slog"

	"github.com/divandb/divan/layer/kv"
)

// Options of a Store. The zero value has the defaults of node.yaml.
type Options struct {
	// Root is the prefix of all keys, from the operator's directory in FoundationDB; empty in the embedded engine.
	Root []byte
	// MaxShards caps the changes shards of one database (CONTRACT.md, changes.max_shards). 0 means 64.
	MaxShards int
	// MaxDocument is the largest document body in bytes. 0 means 8,000,000.
	MaxDocument int
	// MaxAttachment is the largest attachment in bytes. 0 means 1 GiB.
	MaxAttachment int64
	Logger        *slog.Logger
}

// Store is all databases in one engine. Safe for concurrent use. It does not own the engine: close the Store first, then the engine.
type Store struct {
	engine kv.Engine
	o      Options
}

// Database is one open database. Handles are shared, cheap, and need no closing; all methods are safe for concurrent use and return an error of
// kind NotFound once the database was deleted, also when one of the same name was created since.
type Database struct {
	store *Store
	name  string
}

// CreateOptions of a database.
type CreateOptions struct {
	Shards      int  // changes shards, 0 means 1 (P5)
	Partitioned bool // ids are partition:id, and a partition shares a shard (P2)
	// Security is the _security object from the first moment on; nil means `{}`. Written in the creating transaction, so that no database
	// is open to everyone for a moment.
	Security []byte
}

// Open prepares an engine for use: writes the format version into an empty store, refuses a newer one, starts the sweep of transaction ids.
func Open(ctx context.Context, e kv.Engine, o Options) (*Store, error) { panic("unwritten") }

// Close stops the Store's background work and waits for it.
func (s *Store) Close() error { panic("unwritten") }

// Create makes a database. Exists if there is one; Invalid (name illegal_database_name) for a name CouchDB would refuse.
func (s *Store) Create(ctx context.Context, name string, o CreateOptions) (*Database, error) {
	panic("unwritten")
}

// Database opens a database by name. NotFound (reason "Database does not exist.") if there is none. It costs no read when the handle is cached.
func (s *Store) Database(ctx context.Context, name string) (*Database, error) { panic("unwritten") }

// Delete removes a database and everything in it in one short transaction.
func (s *Store) Delete(ctx context.Context, name string) error { panic("unwritten") }

// Names streams the names of all databases in byte order from start (inclusive; empty is the beginning) to end (inclusive; empty is no end).
func (s *Store) Names(ctx context.Context, o NamesOptions) iter.Seq2[string, error] {
	panic("unwritten")
}

// NamesOptions as _all_dbs has them.
type NamesOptions struct {
	Start, End  string // inclusive; empty is open
	ExcludeEnd  bool
	Descending  bool
	Limit, Skip int // Limit < 0 is none
}

// WatchNames becomes ready when a database is created or deleted (_db_updates, SQL catalogue caches).
func (s *Store) WatchNames(ctx context.Context) (kv.Watch, error) { panic("unwritten") }

// Name of the database.
func (d *Database) Name() string { return d.name }

// Info is what GET /{db} shows. Counters are exact; sizes are the bytes of bodies and of attachments.
type Info struct {
	Name, UUID                 string
	DocCount, DocDelCount      int64
	UpdateSeq                  Seq
	PurgeSeq                   int64
	ExternalSize, ActiveSize   int64
	Partitioned                bool
	Incarnation                int64
	Shards                     int
	SupersededBodies, RevLimit int64
}

// Info reads the counters and the newest sequence at one read version.
func (d *Database) Info(ctx context.Context) (Info, error) { panic("unwritten") }

// Security is the database's _security object as it was stored, `{}` by default.
func (d *Database) Security(ctx context.Context) ([]byte, error) { panic("unwritten") }

// SetSecurity stores a JSON object. Invalid if members or admins have wrong shapes.
func (d *Database) SetSecurity(ctx context.Context, object []byte) error { panic("unwritten") }

// RevsLimit and SetRevsLimit: 1 to 4000, default 1000 (R5); anything else is Invalid.
func (d *Database) RevsLimit(ctx context.Context) (int, error) { panic("unwritten") }

// SetRevsLimit applies to later edits; existing histories are stemmed when next written.
func (d *Database) SetRevsLimit(ctx context.Context, n int) error { panic("unwritten") }

// Compact removes the bodies that are no leaf any more, and attachment data that no body refers to, in small transactions.
// It is idempotent and may run while the database is written.
func (d *Database) Compact(ctx context.Context) error { panic("unwritten") }

package db

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Store is the part of a store that all packages of the layer use: the engine, the cached databases, transaction ids
// and the clock. It is safe for concurrent use.
type Store struct {
	Engine    kv.Engine
	Root      []byte // prefix of all keys
	maxShards int    // of a database
	Ids       *transactionIDs
	Clock     storeClock
	Wall      func() time.Time // for display only; nothing is decided by it
	Known     *cores
	live      *cores                       // of the store that this one is a moment of; nil for others
	moment    int64                        // the version of that moment
	Counts    Counts                       // of all databases
	opening   cache.Flights[string, *Core] // by name
	loading   cache.Flights[*Core, *Config]
	// installation is only written when the store is opened.
	installation installation
	slots        [slots]any // state of the packages of the layer
	// Observers are called with every attempt of a transaction on a database just before its commit. They must not
	// block. The list is only written when the store is opened.
	Observers []func(*Txn)
	// Happened, unless nil, is called after each commit of this process that creates, deletes or updates a database. It
	// must not block. It is only written when the store is opened.
	Happened func(event DatabaseEvent, database string)
}

// DatabaseEvent is what can happen to a database as a whole, by CouchDB's names.
type DatabaseEvent string

// The events.
const (
	DatabaseCreated DatabaseEvent = "created"
	DatabaseDeleted DatabaseEvent = "deleted"
	DatabaseUpdated DatabaseEvent = "updated" // a document was written, deleted or purged
)

func (s *Store) happened(event DatabaseEvent, database string) {
	if s.Happened != nil && database != "" {
		s.Happened(event, database)
	}
}

// Created reports that a database has got its name in another way than by Create.
func (s *Store) Created(database string) { s.happened(DatabaseCreated, database) }

// NewStore returns a store in an engine, whose keys begin with root. It reads nothing.
func NewStore(e kv.Engine, root []byte, maxShards int) *Store {
	s := &Store{Engine: e, Root: root, maxShards: maxShards, Wall: wallClock, Known: NewCores(keptCores)}
	s.Ids = newTransactionIDs(s.Section(keyspace.Transactions), &s.Clock)
	return s
}

// AtMoment says that s reads the same keys as live, as of a version. Databases that live has in memory, and that
// existed then, need not be looked up: transactions check whether their configuration was the same, as they do in live.
func (s *Store) AtMoment(live *Store, version int64) { s.live, s.moment = live.Known, version }

// Reach returns nil if the engine answers a request made after the call. It costs one read version.
func (s *Store) Reach(ctx context.Context) error {
	tx := s.Engine.Begin(ctx)
	defer tx.Cancel()
	_, err := tx.ReadVersion().Wait()
	return err
}

// EachDatabase calls do for every existing database. If it fails for one database, for example because of damage,
// EachDatabase continues with the next one and returns the first such error. It stops if the store is full or does not
// answer.
func (s *Store) EachDatabase(ctx context.Context, do func(context.Context, *Database) error) error {
	var first error
	for name, err := range s.Names(ctx, NamesOptions{Limit: -1}) {
		if err != nil {
			return errors.Join(first, err)
		}
		d, err := s.Database(ctx, name)
		if err == nil {
			err = do(ctx, d)
		}
		switch kind := fault.KindOf(err); {
		case err == nil || kind == fault.NotFound:
		case kind == fault.Full || kind == fault.Unavailable && !fault.Local(err) || ctx.Err() != nil:
			return err
		case first == nil:
			first = fmt.Errorf("database %s: %w", name, err)
		}
	}
	return first
}

// Database opens a database by name. It returns NotFound (reason "Database does not exist.") if there is none. If the
// database is in the Store's cache, this costs no read: the first transaction checks whether it still has that name.
func (s *Store) Database(ctx context.Context, name string) (*Database, error) {
	c := s.Known.find(name)
	if c == nil && s.live != nil {
		now := s.live.find(name)
		if now != nil && binary.BigEndian.Uint64(now.Created[:]) <= uint64(s.moment) {
			c = s.Known.Remember(now.copied(s.Root))
		}
	}
	if c == nil {
		var err error
		c, err = s.opening.Do(ctx, name, func() (*Core, error) {
			c, _, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (*Core, error) {
				return s.Lookup(tx, name)
			})
			return c, err
		})
		if err != nil {
			return nil, err
		}
	}
	return s.Handle(c), nil
}

// Handle returns a new handle of a database.
func (s *Store) Handle(c *Core) *Database {
	d := &Database{Store: s, name: c.Name}
	d.Core.Store(c)
	return d
}

package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Store is what every part of the layer needs of a Store: the engine, the databases that are known, the ids of
// transactions, the clock. Safe for concurrent use.
type Store struct {
	Engine    kv.Engine
	Root      []byte // what all keys begin with
	maxShards int    // of a database
	Ids       *transactionIDs
	Clock     storeClock
	Wall      func() time.Time // what people are shown, and nothing is decided by
	Known     *cores
	opening   cache.Flights[string, *Core] // by name
	loading   cache.Flights[*Core, *Config]
	// installation is written by Open alone.
	installation installation
	slots        [slots]any // what the parts of the layer remember of the Store
	// Observers are told of every attempt of a transaction on a database, when it is about to be committed. They do not
	// block. Written by Open alone.
	Observers []func(*Txn)
}

func NewStore(e kv.Engine, root []byte, maxShards int) *Store {
	s := &Store{Engine: e, Root: root, maxShards: maxShards, Wall: wallClock, Known: NewCores(keptCores)}
	s.Ids = newTransactionIDs(s.Section(keyspace.Transactions), &s.Clock)
	return s
}

// Reach returns when the engine has answered a question that was asked after the call. It costs one read version.
func (s *Store) Reach(ctx context.Context) error {
	tx := s.Engine.Begin(ctx)
	defer tx.Cancel()
	_, err := tx.ReadVersion().Wait()
	return err
}

// EachDatabase does something with all databases that are there. It goes on past one where that fails, and returns the
// first of such errors; a store that is full or does not answer ends it. What is damaged in one database does not.
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

// Database opens a database by name. NotFound (reason "Database does not exist.") if there is none. It costs no read
// when the database is in the Store's cache; the first transaction finds out whether it still is the one of that name.
func (s *Store) Database(ctx context.Context, name string) (*Database, error) {
	c := s.Known.find(name)
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

func (s *Store) Handle(c *Core) *Database {
	d := &Database{Store: s, name: c.Name}
	d.Core.Store(c)
	return d
}

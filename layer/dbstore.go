package layer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// dbStore is what every part of the layer needs of a Store: the engine, the databases that are known, the ids of
// transactions, the clock. Safe for concurrent use.
type dbStore struct {
	engine    kv.Engine
	root      []byte // what all keys begin with
	maxShards int    // of a database
	ids       *transactionIDs
	clock     storeClock
	wall      func() time.Time // what people are shown, and nothing is decided by
	known     *cores
	opening   flights[string, *core] // by name
	loading   flights[*core, *config]
	// installation is written by Open alone.
	installation installation
	slots        [slots]any // what the parts of the layer remember of the Store
	// observers are told of every attempt of a transaction on a database, when it is about to be committed. They do not
	// block. Written by Open alone.
	observers []func(*txn)
}

func newDBStore(e kv.Engine, root []byte, maxShards int) *dbStore {
	s := &dbStore{engine: e, root: root, maxShards: maxShards, wall: wallClock, known: newCores(keptCores)}
	s.ids = newTransactionIDs(s.section(keyspace.Transactions), &s.clock)
	return s
}

// Reach returns when the engine has answered a question that was asked after the call. It costs one read version.
func (s *dbStore) Reach(ctx context.Context) error {
	tx := s.engine.Begin(ctx)
	defer tx.Cancel()
	_, err := tx.ReadVersion().Wait()
	return err
}

// eachDatabase does something with all databases that are there. It goes on past one where that fails, and returns the
// first of such errors; a store that is full or does not answer ends it.
func (s *dbStore) eachDatabase(ctx context.Context, do func(context.Context, *Database) error) error {
	var first error
	for name, err := range s.Names(ctx, NamesOptions{Limit: -1}) {
		if err != nil {
			return errors.Join(first, err)
		}
		d, err := s.Database(ctx, name)
		if err == nil {
			err = do(ctx, d)
		}
		switch kind := KindOf(err); {
		case err == nil || kind == NotFound:
		case kind == Full || kind == Unavailable || ctx.Err() != nil:
			return err
		case first == nil:
			first = fmt.Errorf("database %s: %w", name, err)
		}
	}
	return first
}

// Database opens a database by name. NotFound (reason "Database does not exist.") if there is none. It costs no read
// when the database is in the Store's cache; the first transaction finds out whether it still is the one of that name.
func (s *dbStore) Database(ctx context.Context, name string) (*Database, error) {
	c := s.known.find(name)
	if c == nil {
		var err error
		c, err = s.opening.do(ctx, name, func() (*core, error) {
			c, _, err := kv.Transact(ctx, s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (*core, error) {
				return s.lookup(tx, name)
			})
			return c, err
		})
		if err != nil {
			return nil, err
		}
	}
	return s.handle(c), nil
}

func (s *dbStore) handle(c *core) *Database {
	d := &Database{store: s, name: c.name}
	d.core.Store(c)
	return d
}

package layer

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Database is one open database. Handles are cheap and need no closing; all methods are safe for concurrent use and return an error of
// kind NotFound once the database was deleted, also when one of the same name was created since.
type Database struct {
	store *dbStore
	name  string
	core  atomic.Pointer[core]
	// pinned is set by the first transaction that found the database there. Until then the handle came from a cache, and a database
	// that was replaced by one of the same name is looked up again: the caller asked for the name. From then on it stands for that
	// one database alone, so that a feed never goes on in another.
	pinned atomic.Bool
}

// errNoDatabase is NotFound as CouchDB says it.
func errNoDatabase() error { return errf(NotFound, "", "Database does not exist.") }

// errNewConfig makes the retry loop run a transaction again with the configuration that is now cached.
func errNewConfig() error {
	return kv.NewError(kv.CodeNotCommitted, "the database's configuration has changed", nil)
}

// Name of the database.
func (d *Database) Name() string { return d.name }

// Number tells the database from every other one of the store, also from one of the same name before or after it. It is the same on every node.
func (d *Database) Number() int64 { return d.core.Load().number }

// Shared is the one handle that stands for this database and no other, the same pointer each time while the node has the database cached: handles
// that are compared, to know whether they mean the same database, are shared ones.
func (d *Database) Shared() *Database {
	c := d.core.Load()
	c.share.Do(func() {
		c.shared = &Database{store: d.store, name: c.name}
		c.shared.core.Store(c)
		c.shared.pinned.Store(true)
	})
	return c.shared
}

// txn is one attempt of a transaction on one database. Not safe for concurrent use.
type txn struct {
	kv.Transaction
	ctx  context.Context
	db   *Database
	core *core
	keys space
	cfg  *config
	rawKeys

	entries    uint16 // changes entries so far: the user bytes of the next
	superseded uint16
	purges     uint16
	touched    []touchedShard
	counts     counterDeltas
	partitions partitionDeltas
	restamp    bool // the configuration changes with this transaction
	redesigned bool // the set of interactive indexes may
	gatherings []gathering
	// What compaction removes: entries of the queue, bodies, bytes of bodies, bytes of attachments, purges of the
	// history.
	unqueued, removed, dropped, freed, forgotten int64
	spent                                        int // bytes read by the stage under way, as far as they are counted (see portions.go)
	// ahead is what was read of a batch's documents before their edits (leafscan.go).
	ahead struct {
		rows map[string][]kv.KeyValue // branches, by document
		read int                      // bytes, those between the documents' rows included
	}
}

// gathering is what a part of the layer gathers in a transaction and writes once, at its end.
type gathering interface{ finish(t *txn) }

// gather is what of type T the transaction has gathered.
func gather[T any, P interface {
	*T
	gathering
}](t *txn) P {
	for _, g := range t.gatherings {
		if p, ok := g.(P); ok {
			return p
		}
	}
	p := P(new(T))
	t.gatherings = append(t.gatherings, p)
	return p
}

type touchedShard struct {
	id   ShardID
	last uint16
}

// transact runs fn in transactions until one commits, under a transaction id (C4). fn may run several times. What is
// too much for one transaction is an error of kind TooLarge or Unavailable: work that can be divided is run by
// writePart.
func transact[T any](ctx context.Context, d *Database, fn func(t *txn) (T, error)) (T, kv.Committed, error) {
	return transactWith(ctx, d, kv.TransactOptions{}, fn)
}

func transactWith[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *txn) (T, error)) (T, kv.Committed, error) {
	for {
		r, c, err := transactOnce(ctx, d, o, func(t *txn) (T, error) {
			if t.cfg.current().Scheme == "" {
				var zero T
				return zero, errDeprecated
			}
			return fn(t)
		})
		if !errors.Is(err, errDeprecated) {
			return r, c, err
		}
		if err := d.leaveDeprecated(ctx); err != nil {
			return r, c, err
		}
	}
}

// transactOnce is transact for a database as it is, its current map the deprecated subspace or not.
func transactOnce[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *txn) (T, error)) (T, kv.Committed, error) {
	o.TransactionID = d.store.ids.next()
	r, c, err := kv.Transact(ctx, d.store.engine, o, func(tx kv.Transaction) (T, error) {
		return attempt(ctx, d, tx, fn)
	})
	d.store.clock.saw(c.Version)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		d.store.ids.done(o.TransactionID)
	}
	return r, c, explained(err)
}

// read runs fn in a transaction without an id: one that does not write, or whose writes may be repeated without harm.
// As with transact, work that can be divided is run by readPart.
func read[T any](ctx context.Context, d *Database, fn func(t *txn) (T, error)) (T, error) {
	return readWith(ctx, d, kv.TransactOptions{}, fn)
}

func readWith[T any](ctx context.Context, d *Database, o kv.TransactOptions, fn func(t *txn) (T, error)) (T, error) {
	r, _, err := kv.Transact(ctx, d.store.engine, o, func(tx kv.Transaction) (T, error) {
		return attempt(ctx, d, tx, fn)
	})
	return r, explained(err)
}

// attempt runs fn with the cached configuration and asks whether that is the current one, which the store's metadata version tells without another read. The
// stamp is in the conflict set: a reshard or the deletion of the database makes the commit fail (P4).
func attempt[T any](ctx context.Context, d *Database, tx kv.Transaction, fn func(t *txn) (T, error)) (T, error) {
	var zero T
	c, err := d.resolved(tx)
	if err != nil {
		return zero, err
	}
	cfg := c.cached.Load()
	if cfg == nil {
		// One that another transaction has read does too: it is asked below whether it is current.
		cfg, err = d.store.loading.do(ctx, c, func() (*config, error) { return d.reload(c, tx) })
		if err != nil {
			return zero, err
		}
	}
	metadata := kv.MetadataVersion(tx.Snapshot())
	tx.AddReadConflict(kv.KeyRange{Begin: c.stampKey, End: append(c.stampKey[:len(c.stampKey):len(c.stampKey)], 0)})
	t := txn{Transaction: tx, ctx: ctx, db: d, core: c, keys: c.keys, cfg: cfg}
	r, err := fn(&t)
	current, asked := c.current(tx, cfg, metadata)
	switch {
	case asked != nil:
		return zero, asked
	case !current:
		// Read by the next attempt: in this one fn may have written what would be read.
		c.cached.CompareAndSwap(cfg, nil)
		return zero, errNewConfig()
	}
	d.pinned.Store(true)
	if err != nil {
		return zero, err
	}
	t.finish()
	for _, observe := range d.store.observers {
		observe(&t)
	}
	return r, nil
}

// resolved is the handle's database, looked up by name where the handle has none yet.
func (d *Database) resolved(r kv.Reader) (*core, error) {
	if c := d.core.Load(); c != nil {
		return c, nil
	}
	c, err := d.store.lookup(r, d.name)
	if err != nil {
		return nil, err
	}
	d.core.Store(c)
	return c, nil
}

// reload reads and caches the configuration. Where the database is gone: NotFound, or, for a handle that is not pinned, a retry with the
// database that has its name now.
func (d *Database) reload(c *core, r kv.Reader) (*config, error) {
	cfg, err := c.load(r)
	if err != nil {
		return nil, err
	}
	if cfg != nil {
		c.keep(cfg)
		return cfg, nil
	}
	d.store.known.forget(c)
	if d.pinned.Load() {
		return nil, errNoDatabase()
	}
	now, err := d.store.lookup(r, d.name)
	if err != nil {
		return nil, err
	}
	d.core.Store(now)
	return nil, errNewConfig()
}

// touch notes that entry user was written to a shard.
func (t *txn) touch(shard ShardID, user uint16) {
	for i := range t.touched {
		if t.touched[i].id == shard {
			t.touched[i].last = user
			return
		}
	}
	t.touched = append(t.touched, touchedShard{shard, user})
}

// finish writes what is written once for the whole transaction: counters, wake keys, stamp.
func (t *txn) finish() {
	for _, g := range t.gatherings {
		g.finish(t)
	}
	t.finishCounters()
	t.finishPartitions()
	for _, s := range t.touched {
		t.setWake(s.id, s.last)
	}
	if t.restamp {
		t.SetVersionstampedValue(t.core.stampKey, make([]byte, len(kv.Versionstamp{})), 0)
		kv.ChangeMetadataVersion(t)
	}
}

// setWake notes the newest entry of a shard, without reading (C7).
func (t *txn) setWake(shard ShardID, user uint16) {
	value := tuple.AppendInt(t.open(), t.cfg.incarnation)
	offset := len(value) + 1
	value = t.close(tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(user)))
	t.SetVersionstampedValue(t.close(t.keys.wake(t.open(), shard)), value, offset)
}

// getRange starts reading all keys that extend prefix.
func getRange(r kv.Reader, prefix []byte, o kv.RangeOptions) kv.RangeIterator {
	return r.GetRange(prefixRange(prefix), o)
}

// lookup finds a database by name and caches it. NotFound.
func (s *dbStore) lookup(r kv.Reader, name string) (*core, error) {
	value, err := r.Get(s.nameKey(name)).Wait()
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errNoDatabase()
	}
	number, rest, err := tuple.TakeInt(value)
	if err != nil {
		return nil, corrupt("database entry", err)
	}
	created, _, err := tuple.TakeVersionstamp(rest)
	if err != nil {
		return nil, corrupt("database entry", err)
	}
	return s.known.remember(newCore(s.root, name, number, created.Transaction)), nil
}

func (s *dbStore) nameKey(name string) []byte {
	return tuple.AppendString(s.section(keyspace.Databases), name)
}

func (s *dbStore) section(n keyspace.Section) []byte {
	return tuple.AppendInt(append([]byte(nil), s.root...), int64(n))
}

// stampNow begins a value with (format, the sequence that the transaction's last entry gets), and returns where the
// versionstamp belongs.
func (t *txn) stampNow(format int64) (value []byte, offset int) {
	value = tuple.AppendInt(tuple.AppendInt(nil, format), t.cfg.incarnation)
	return tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(max(t.entries, 1)-1)), len(value) + 1
}

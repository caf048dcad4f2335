package db

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Database is one open database. Handles are cheap and need no closing; all methods are safe for concurrent use and
// return an error of kind NotFound once the database was deleted, also when one of the same name was created since.
type Database struct {
	Store *Store
	name  string
	Core  atomic.Pointer[Core]
	// Pinned is set by the first transaction that found the database there. Until then the handle came from a cache,
	// and a database that was replaced by one of the same name is looked up again: the caller asked for the name. From
	// then on it stands for that one database alone, so that a feed never goes on in another.
	Pinned atomic.Bool
}

// ErrNoDatabase is NotFound as CouchDB says it.
func ErrNoDatabase() error { return fault.Errf(fault.NotFound, "", "Database does not exist.") }

// errNewConfig makes the retry loop run a transaction again with the configuration that is now cached.
func errNewConfig() error {
	return kv.NewError(kv.CodeNotCommitted, "the database's configuration has changed", nil)
}

// Name of the database.
func (d *Database) Name() string { return d.name }

// Number tells the database from every other one of the store, also from one of the same name before or after it. It is
// the same on every node.
func (d *Database) Number() int64 { return d.Core.Load().Number }

// Shared is the one handle that stands for this database and no other, the same pointer each time while the node has
// the database cached: handles that are compared, to know whether they mean the same database, are shared ones.
func (d *Database) Shared() *Database {
	c := d.Core.Load()
	c.share.Do(func() {
		c.shared = &Database{Store: d.Store, name: c.Name}
		c.shared.Core.Store(c)
		c.shared.Pinned.Store(true)
	})
	return c.shared
}

// Kept is one value for as long as Shared is the same handle: what the first caller makes of that.
func (d *Database) Kept(of func(shared *Database) any) any {
	c := d.Core.Load()
	c.keeping.Do(func() { c.kept = of(d.Shared()) })
	return c.kept
}

// Txn is one attempt of a transaction on one database. Not safe for concurrent use.
type Txn struct {
	kv.Transaction
	Ctx  context.Context
	Db   *Database
	Core *Core
	Keys Space
	Cfg  *Config
	RawKeys

	Entries    uint16 // changes entries so far: the user bytes of the next
	Superseded uint16
	Purges     uint16
	touched    []touchedShard
	counts     counterDeltas
	partitions partitionDeltas
	Restamp    bool // the configuration changes with this transaction
	Redesigned bool // the set of interactive indexes may
	gatherings []gathering
	// What compaction removes: entries of the queue, bodies, bytes of bodies, bytes of attachments, purges of the
	// history.
	Unqueued, Removed, Dropped, Freed, Forgotten int64
	// bytes read by the stage under way, as far as they are counted (see portions.go)
	Spent int
	// Ahead is what was read of a batch's documents before their edits (rev/leafscan.go).
	Ahead struct {
		Rows map[string][]kv.KeyValue // branches, by document
		Read int                      // bytes, those between the documents' rows included
	}
}

// gathering is what a part of the layer gathers in a transaction and writes once, at its end.
type gathering interface{ Finish(t *Txn) }

// Gather is what of type T the transaction has gathered.
func Gather[T any, P interface {
	*T
	gathering
}](t *Txn) P {
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

// Transact runs fn in transactions until one commits, under a transaction id (C4). fn may run several times. What is
// too much for one transaction is an error of kind TooLarge or Unavailable: work that can be divided is run by
// WritePart.
func Transact[T any](ctx context.Context, d *Database, fn func(t *Txn) (T, error)) (T, kv.Committed, error) {
	return transactWith(ctx, d, kv.TransactOptions{}, fn)
}

func transactWith[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *Txn) (T, error)) (T, kv.Committed, error) {
	for {
		r, c, err := TransactOnce(ctx, d, o, func(t *Txn) (T, error) {
			if t.Cfg.Current().Scheme == "" {
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

// TransactOnce is transact for a database as it is, its current map the deprecated subspace or not.
func TransactOnce[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *Txn) (T, error)) (T, kv.Committed, error) {
	o.TransactionID = d.Store.Ids.next()
	var outdated *Config // by the last attempt
	r, c, err := kv.Transact(ctx, d.Store.Engine, o, func(tx kv.Transaction) (T, error) {
		return attempt(ctx, d, tx, &outdated, fn)
	})
	if outdated != nil && err == nil { // the next transaction reads it, and need not be run again
		d.Core.Load().Cached.CompareAndSwap(outdated, nil)
	}
	d.Store.Clock.Saw(c.Version)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		d.Store.Ids.done(o.TransactionID)
	}
	return r, c, Explained(err)
}

// Read runs fn in a transaction without an id: one that does not write, or whose writes may be repeated without harm.
// As with transact, work that can be divided is run by readPart.
func Read[T any](ctx context.Context, d *Database, fn func(t *Txn) (T, error)) (T, error) {
	return readWith(ctx, d, kv.TransactOptions{}, fn)
}

func readWith[T any](ctx context.Context, d *Database, o kv.TransactOptions, fn func(t *Txn) (T, error)) (T, error) {
	var outdated *Config // nothing of it is written
	r, _, err := kv.Transact(ctx, d.Store.Engine, o, func(tx kv.Transaction) (T, error) {
		return attempt(ctx, d, tx, &outdated, fn)
	})
	return r, Explained(err)
}

// attempt runs fn with the cached configuration and asks whether that is the current one, which the store's metadata
// version tells without another read. The stamp is in the conflict set: a reshard or the deletion of the database makes
// the commit fail (P4). outdated is the configuration that the attempt changes, nil where it does not.
func attempt[T any](
	ctx context.Context, d *Database, tx kv.Transaction, outdated **Config, fn func(t *Txn) (T, error),
) (T, error) {
	var zero T
	*outdated = nil
	c, err := d.Resolved(tx)
	if err != nil {
		return zero, err
	}
	cfg := c.Cached.Load()
	if cfg == nil {
		// One that another transaction has read does too: it is asked below whether it is current.
		cfg, err = d.Store.loading.Do(ctx, c, func() (*Config, error) { return d.Reload(c, tx) })
		if err != nil {
			return zero, err
		}
	}
	metadata := kv.MetadataVersion(tx.Snapshot())
	tx.AddReadConflict(kv.KeyRange{Begin: c.stampKey, End: append(c.stampKey[:len(c.stampKey):len(c.stampKey)], 0)})
	t := Txn{Transaction: tx, Ctx: ctx, Db: d, Core: c, Keys: c.Keys, Cfg: cfg}
	r, err := fn(&t)
	current, asked := c.Current(tx, cfg, metadata)
	switch {
	case asked != nil:
		return zero, asked
	case !current:
		// Read by the next attempt: in this one fn may have written what would be read.
		c.Cached.CompareAndSwap(cfg, nil)
		return zero, errNewConfig()
	}
	d.Pinned.Store(true)
	if err != nil {
		return zero, err
	}
	t.Finish()
	if t.Restamp {
		*outdated = cfg
	}
	for _, observe := range d.Store.Observers {
		observe(&t)
	}
	return r, nil
}

// Resolved is the handle's database, looked up by name where the handle has none yet.
func (d *Database) Resolved(r kv.Reader) (*Core, error) {
	if c := d.Core.Load(); c != nil {
		return c, nil
	}
	c, err := d.Store.Lookup(r, d.name)
	if err != nil {
		return nil, err
	}
	d.Core.Store(c)
	return c, nil
}

// Reload reads and caches the configuration. Where the database is gone: NotFound, or, for a handle that is not pinned,
// a retry with the database that has its name now.
func (d *Database) Reload(c *Core, r kv.Reader) (*Config, error) {
	cfg, err := c.Load(r)
	if err != nil {
		return nil, err
	}
	if cfg != nil {
		c.keep(cfg)
		return cfg, nil
	}
	d.Store.Known.forget(c)
	if d.Pinned.Load() {
		return nil, ErrNoDatabase()
	}
	now, err := d.Store.Lookup(r, d.name)
	if err != nil {
		return nil, err
	}
	d.Core.Store(now)
	return nil, errNewConfig()
}

// Touch notes that entry user was written to a shard.
func (t *Txn) Touch(shard ShardID, user uint16) {
	for i := range t.touched {
		if t.touched[i].id == shard {
			t.touched[i].last = user
			return
		}
	}
	t.touched = append(t.touched, touchedShard{shard, user})
}

// Finish writes what is written once for the whole transaction: counters, wake keys, stamp.
func (t *Txn) Finish() {
	for _, g := range t.gatherings {
		g.Finish(t)
	}
	t.finishCounters()
	t.finishPartitions()
	for _, s := range t.touched {
		t.setWake(s.id, s.last)
	}
	if t.Restamp {
		t.SetVersionstampedValue(t.Core.stampKey, make([]byte, len(kv.Versionstamp{})), 0)
		kv.ChangeMetadataVersion(t)
	}
}

// setWake notes the newest entry of a shard, without reading (C7).
func (t *Txn) setWake(shard ShardID, user uint16) {
	value := tuple.AppendInt(t.Open(), t.Cfg.Incarnation)
	offset := len(value) + 1
	value = t.Close(tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(user)))
	t.SetVersionstampedValue(t.Close(t.Keys.Wake(t.Open(), shard)), value, offset)
}

// GetRange starts reading all keys that extend prefix.
func GetRange(r kv.Reader, prefix []byte, o kv.RangeOptions) kv.RangeIterator {
	return r.GetRange(PrefixRange(prefix), o)
}

// Lookup finds a database by name and caches it. NotFound.
func (s *Store) Lookup(r kv.Reader, name string) (*Core, error) {
	value, err := r.Get(s.NameKey(name)).Wait()
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, ErrNoDatabase()
	}
	number, rest, err := tuple.TakeInt(value)
	if err != nil {
		return nil, Corrupt("database entry", err)
	}
	created, _, err := tuple.TakeVersionstamp(rest)
	if err != nil {
		return nil, Corrupt("database entry", err)
	}
	return s.Known.Remember(NewCore(s.Root, name, number, created.Transaction)), nil
}

func (s *Store) NameKey(name string) []byte {
	return tuple.AppendString(s.Section(keyspace.Databases), name)
}

func (s *Store) Section(n keyspace.Section) []byte {
	return tuple.AppendInt(append([]byte(nil), s.Root...), int64(n))
}

// StampNow begins a value with (format, the sequence that the transaction's last entry gets), and returns where the
// versionstamp belongs.
func (t *Txn) StampNow(format int64) (value []byte, offset int) {
	value = tuple.AppendInt(tuple.AppendInt(nil, format), t.Cfg.Incarnation)
	return tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(max(t.Entries, 1)-1)), len(value) + 1
}

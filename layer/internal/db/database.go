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

// Database is a handle of a database. Handles are cheap and need not be closed. All methods are safe for concurrent
// use, and return an error of kind NotFound after the database has been deleted, even if another one with the same name
// has been created.
type Database struct {
	Store *Store
	name  string
	Core  atomic.Pointer[Core]
	// Pinned is set by the first transaction that finds the database. Before that, the handle may come from the cache.
	// If the database was replaced by one with the same name, it is looked up again, because the caller asked for the
	// name. Afterwards the handle always refers to the same database, so that a feed never continues in another one.
	Pinned atomic.Bool
}

// ErrNoDatabase returns CouchDB's NotFound error for databases.
func ErrNoDatabase() error { return fault.Errf(fault.NotFound, "", "Database does not exist.") }

// errNewConfig makes the retry loop run a transaction again, with the new configuration.
func errNewConfig() error {
	return kv.NewError(kv.CodeNotCommitted, "the database's configuration has changed", errOutdated)
}

// errOutdated is the cause of errNewConfig: what was known of the database was not current.
var errOutdated = errors.New("it was read before")

// Name returns the name of the database.
func (d *Database) Name() string { return d.name }

// Number identifies the database in the store, on all nodes. Another database with the same name, earlier or later, has
// another number.
func (d *Database) Number() int64 { return d.Core.Load().Number }

// Shared returns the one shared handle of this database, always the same pointer while the database is in the node's
// cache. Code that compares handles to find out whether they refer to the same database uses shared handles.
func (d *Database) Shared() *Database {
	c := d.Core.Load()
	c.share.Do(func() {
		c.shared = &Database{Store: d.Store, name: c.Name}
		c.shared.Core.Store(c)
		c.shared.Pinned.Store(true)
	})
	return c.shared
}

// Kept returns a value that belongs to the shared handle. The first call computes it.
func (d *Database) Kept(of func(shared *Database) any) any {
	c := d.Core.Load()
	c.keeping.Do(func() { c.kept = of(d.Shared()) })
	return c.kept
}

// Txn is one attempt of a transaction on one database. It is not safe for concurrent use.
type Txn struct {
	kv.Transaction
	Ctx  context.Context
	Db   *Database
	Core *Core
	Keys Space
	Cfg  *Config
	RawKeys

	Entries    uint16 // number of changes entries so far, the user version of the next one
	Superseded uint16
	Purges     uint16
	touched    []touchedShard
	counts     counterDeltas
	partitions partitionDeltas
	docRanges  docRangeDeltas
	Restamp    bool // the transaction changes the configuration
	Redesigned bool // the transaction may change the set of interactive indexes
	gatherings []gathering
	// Numbers of what compaction has removed: queue entries, bodies, bytes of bodies, bytes of attachments, purges in
	// the history.
	Unqueued, Removed, Dropped, Freed, Forgotten int64
	// Spent is the number of bytes read by the current stage, as far as they are counted (see portions.go).
	Spent int
	// Ahead is what was read of the documents of a batch before their edits (rev/leafscan.go).
	Ahead struct {
		Rows map[string][]kv.KeyValue // branches, by document
		Read int                      // bytes, including rows between those of the documents
	}
}

// gathering collects, for a part of the layer, what a transaction writes once at its end.
type gathering interface{ Finish(t *Txn) }

// Gather returns the transaction's gathering of type T, creating it if necessary.
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

// Transact runs fn in transactions with a transaction id (C4) until one commits. fn may run several times. If the work
// is too much for one transaction, the error is of kind TooLarge or Unavailable; use WritePart for work that can be
// divided.
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

// TransactOnce is Transact for a database whose current map may be the deprecated subspace.
func TransactOnce[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *Txn) (T, error)) (T, kv.Committed, error) {
	return transactID(ctx, d, o, fn, func(kv.Transaction, error) {})
}

// maxRenewals is how often TransactAt tries again because what was known of the database was not current at the
// version: the configuration was outdated, or the handle's database was replaced. Each takes one attempt; others may
// interfere.
const maxRenewals = 4

// TransactAt is Transact for work that was prepared by reads at a version, at which the transaction reads too. fn is
// called again if the configuration in memory was not that of the version. After any other failure that may be
// temporary, such as a conflict, the result is the error moved.
func TransactAt[T any](ctx context.Context, d *Database, version int64, moved error,
	fn func(t *Txn) (T, error)) (T, kv.Committed, error) {
	attempts, at := 0, false
	r, c, err := transactID(ctx, d, kv.TransactOptions{}, func(t *Txn) (T, error) {
		var zero T
		switch {
		case !at:
			return zero, moved
		case t.Cfg.Current().Scheme == "":
			return zero, errDeprecated
		}
		return fn(t)
	}, func(tx kv.Transaction, before error) {
		if at = attempts == 0 || attempts <= maxRenewals && errors.Is(before, errOutdated); at {
			tx.SetReadVersion(version)
		}
		attempts++
	})
	if errors.Is(err, errDeprecated) {
		if err = d.leaveDeprecated(ctx); err == nil {
			err = errNewConfig()
		}
	}
	return r, c, err
}

// transactID runs fn in transactions with an id. prepare is called at the beginning of each, with the error that the
// attempt before it ended with before its commit.
func transactID[T any](ctx context.Context, d *Database, o kv.TransactOptions,
	fn func(t *Txn) (T, error), prepare func(tx kv.Transaction, before error)) (T, kv.Committed, error) {
	o.TransactionID = d.Store.Ids.next()
	var last outcome
	var before error
	r, c, err := kv.Transact(ctx, d.Store.Engine, o, func(tx kv.Transaction) (T, error) {
		prepare(tx, before)
		r, err := attempt(ctx, d, tx, &last, fn)
		before = err
		return r, err
	})
	// The next transaction loads the new configuration instead of finding out that it is outdated and being retried.
	if last.outdated != nil && err == nil {
		d.Core.Load().Cached.CompareAndSwap(last.outdated, nil)
	}
	if last.entries && (err == nil || kv.MaybeCommitted(err)) {
		d.Store.happened(DatabaseUpdated, d.name)
	}
	d.Store.Clock.Saw(c.Version)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		d.Store.Ids.done(o.TransactionID)
	}
	return r, c, Explain(err)
}

// Read runs fn in a transaction without an id: one that does not write, or whose writes can be repeated without harm.
// Use ReadPart for work that can be divided.
func Read[T any](ctx context.Context, d *Database, fn func(t *Txn) (T, error)) (T, error) {
	return readWith(ctx, d, kv.TransactOptions{}, fn)
}

func readWith[T any](ctx context.Context, d *Database, o kv.TransactOptions, fn func(t *Txn) (T, error)) (T, error) {
	var last outcome // not used: a read changes nothing
	r, _, err := kv.Transact(ctx, d.Store.Engine, o, func(tx kv.Transaction) (T, error) {
		return attempt(ctx, d, tx, &last, fn)
	})
	return r, Explain(err)
}

// outcome is what an attempt changes if it commits.
type outcome struct {
	outdated *Config // the configuration that it replaces
	entries  bool    // it writes changes entries
}

// attempt runs fn with the cached configuration, and checks whether it is current, usually by the store's metadata
// version, without another read. The stamp is in the read conflict set, so that a reshard or the deletion of the
// database makes the commit fail (P4). It sets last.
func attempt[T any](
	ctx context.Context, d *Database, tx kv.Transaction, last *outcome, fn func(t *Txn) (T, error),
) (T, error) {
	var zero T
	*last = outcome{}
	c, err := d.Resolved(tx)
	if err != nil {
		return zero, err
	}
	cfg := c.Cached.Load()
	if cfg == nil {
		// Another transaction may load it at the same time. Either is checked below.
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
		// The next attempt loads it. In this one, fn may have written the keys that would be read.
		c.Cached.CompareAndSwap(cfg, nil)
		return zero, errNewConfig()
	}
	d.Pinned.Store(true)
	if err != nil {
		return zero, err
	}
	t.Finish()
	last.entries = t.Entries > 0
	if t.Restamp {
		last.outdated = cfg
	}
	for _, observe := range d.Store.Observers {
		observe(&t)
	}
	return r, nil
}

// Resolved returns the handle's database, which it looks up by name if necessary.
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

// Reload reads and caches the configuration. If the database is gone, it returns NotFound or, for a handle that is not
// pinned, looks up the name again and makes the caller retry.
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

// Touch records that a shard's changes entry with this user version was written. A document that a transaction writes
// twice keeps its entry, so that user versions need not ascend.
func (t *Txn) Touch(shard ShardID, user uint16) {
	for i := range t.touched {
		if s := &t.touched[i]; s.id == shard {
			s.last = max(s.last, user)
			return
		}
	}
	t.touched = append(t.touched, touchedShard{shard, user})
}

// Finish writes what is written once at the end of the transaction: gatherings, counters, wake keys, stamp.
func (t *Txn) Finish() {
	for _, g := range t.gatherings {
		g.Finish(t)
	}
	t.finishCounters()
	t.finishPartitions()
	t.finishDocRanges()
	for _, s := range t.touched {
		t.setWake(s.id, s.last)
	}
	if t.Restamp {
		t.SetVersionstampedValue(t.Core.stampKey, make([]byte, len(kv.Versionstamp{})), 0)
		kv.ChangeMetadataVersion(t)
	}
}

// setWake writes the newest sequence of a shard, without reading (C7).
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

// Lookup finds a database by name and caches it. It returns NotFound if there is none.
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

// NameKey is (Databases, name).
func (s *Store) NameKey(name string) []byte {
	return tuple.AppendString(s.Section(keyspace.Databases), name)
}

// Section is the prefix of a section.
func (s *Store) Section(n keyspace.Section) []byte {
	return tuple.AppendInt(append([]byte(nil), s.Root...), int64(n))
}

// StampNow begins a value with format and the sequence of the transaction's last entry, and returns the offset of the
// versionstamp.
func (t *Txn) StampNow(format int64) (value []byte, offset int) {
	value = tuple.AppendInt(tuple.AppendInt(nil, format), t.Cfg.Incarnation)
	return tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(max(t.Entries, 1)-1)), len(value) + 1
}

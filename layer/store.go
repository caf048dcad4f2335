package layer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/upkeep"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// Options are the options of Open. The zero value has the defaults of node.yaml.
type Options struct {
	// Root is the prefix of all keys, from the operator's directory in FoundationDB. It is empty in the embedded
	// engine.
	Root []byte
	// MaxShards limits the changes shards of one database (P5; changes.max_shards). 0 means 64.
	MaxShards int
	// MaxDocument is the maximum size of a document body in bytes. 0 means 8,000,000.
	MaxDocument int
	// MaxAttachment is the maximum size of an attachment in bytes. 0 means 1 GiB.
	MaxAttachment int64
	// Owner reports that only this process uses the engine, such as a store in a directory. Then uploads that were
	// begun before the store was opened are removed at once. If another process should still be working on one of them,
	// it fails and has to be sent again.
	Owner bool
	// ReadOnly is for an engine that accepts no writes: nothing is created, upgraded or swept. Salvage also opens a
	// store whose format cannot be read because of damage.
	ReadOnly, Salvage bool
	Logger            *slog.Logger
	// ReduceTime limits the time of the JavaScript reductions of one query. 0 means 30 s.
	ReduceTime time.Duration
	// PartialRows is the maximum number of rows in a partial aggregate of a view, and of partials in one of a higher
	// level. With more, the edges of a range, which are read by rows, become slower; with fewer, there are more
	// partials. It may be changed at any time. 0 means 64.
	PartialRows int
	// CleanupAfter is the delay between a change of a design document and the job that removes unused indexes (V8). 0
	// means that only CleanupViews removes them.
	CleanupAfter time.Duration
	// Compaction configures automatic compaction. The zero value means none.
	Compaction compact.Compaction
	// Scripts runs the map functions of design documents. With nil, no index can be built. The caller closes it after
	// the Store.
	Scripts *script.Sandbox
	// Validator runs the functions of design documents that validate writes. With nil, writes are not validated.
	Validator db.Validator
	// Happened, unless nil, is called after each commit of this process that creates, deletes or updates a database. It
	// must not block.
	Happened func(event DatabaseEvent, database string)
	// Wall replaces the clock of this machine, in simulations of nodes whose clocks differ. nil means the real one.
	Wall func() time.Time
}

func (o Options) withDefaults() Options {
	if o.MaxShards == 0 {
		o.MaxShards = 64
	}
	if o.MaxDocument == 0 {
		o.MaxDocument = 8_000_000
	}
	if o.MaxAttachment == 0 {
		o.MaxAttachment = 1 << 30
	}
	if o.ReduceTime == 0 {
		o.ReduceTime = 30 * time.Second
	}
	if o.PartialRows == 0 {
		o.PartialRows = 64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store is all databases in one engine. It is safe for concurrent use. It does not own the engine: close the Store
// first, then the engine.
type Store struct {
	*db.Store
	jobStore
	compactStore
	checkStore
	exportStore

	o      Options
	upkeep *upkeep.Upkeep
	stop   context.CancelFunc
	done   sync.WaitGroup // goroutines of upkeep
}

// Open opens a store in an engine. It writes the format version into an empty store, upgrades an older one, rejects a
// newer one, and starts background work.
func Open(ctx context.Context, e kv.Engine, o Options) (*Store, error) {
	s := newStore(e, o.withDefaults())
	o = s.o
	s.fillSlots(&design.State{
		Scripts: o.Scripts, Log: o.Logger,
		Designs: cache.New[design.Key, *design.Design](design.KeptDesigns),
		Maps:    cache.New[string, design.Maps](design.KeptMaps),
	}, &query.State{
		Scripts: o.Scripts, Reduces: cache.New[string, *script.Reduce](query.KeptReduces), ReduceTime: o.ReduceTime,
	})
	if s.o.ReadOnly {
		s.stop = func() {}
		return s, s.readFormat(ctx)
	}
	if err := s.checkFormat(ctx); err != nil {
		return nil, err
	}
	feed.StateOf(s.Store).Closings.Wake = make(chan struct{}, 1)
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, kind := range s.kindsOfUpkeep() {
		s.done.Go(func() { s.upkeep.Keep(background, kind) })
	}
	return s, nil
}

// newStore returns a Store whose slots are empty. o has its defaults.
func newStore(e kv.Engine, o Options) *Store {
	base := db.NewStore(e, o.Root, o.MaxShards)
	if o.Wall != nil {
		base.Wall = o.Wall
	}
	s := &Store{
		Store: base, jobStore: jobs.OfStore(base), compactStore: compact.OfStore(base), checkStore: check.OfStore(base),
		exportStore: export.OfStore(base), o: o, upkeep: &upkeep.Upkeep{Log: o.Logger},
	}
	s.Happened = o.Happened
	s.Observers = []func(*db.Txn){feed.NoteEntries, compact.NoteSuperseded}
	return s
}

// fillSlots gives each package its options and caches. Those of designs and reductions may be another Store's.
func (s *Store) fillSlots(designs *design.State, reductions *query.State) {
	o := &s.o
	jobs.BeatsSlot.Fill(s.Store, &jobs.Beats{})
	alldocs.Slot.Fill(s.Store, &alldocs.State{})
	feed.Slot.Fill(s.Store, &feed.State{Shape: feed.DefaultShape, Log: o.Logger})
	design.Slot.Fill(s.Store, designs)
	query.Slot.Fill(s.Store, reductions)
	attach.Slot.Fill(s.Store, &attach.State{Max: o.MaxAttachment, Life: attach.NewAttachmentID(), Log: o.Logger})
	compacting := &compact.State{Compaction: o.Compaction, Log: o.Logger}
	if o.ReadOnly {
		compacting.Compaction = compact.Compaction{}
	}
	compact.Slot.Fill(s.Store, compacting)
	write.Slot.Fill(s.Store, &write.State{
		Indexes: build.InteractiveIndexes{}, Validator: o.Validator, MaxDocument: o.MaxDocument,
		CleanupAfter: o.CleanupAfter,
	})
	index.PublishedSlot.Fill(s.Store, &index.Publications{})
	aggregate.Slot.Fill(s.Store, &aggregate.State{PartialRows: o.PartialRows})
}

// FormatOf returns the format of the store in an engine under a root, or 0 if there is none. It changes nothing. Open
// upgrades a store with an older format to keyspace.FormatVersion, which cannot be undone.
func FormatOf(ctx context.Context, e kv.Engine, root []byte) (int64, error) {
	key := (&db.Store{Root: root}).Section(keyspace.Format)
	version, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (int64, error) {
		value, err := tx.Get(key).Wait()
		if err != nil || value == nil {
			return 0, err
		}
		version, _, err := tuple.TakeInt(value)
		if err != nil {
			return 0, db.Corrupt("format version", err)
		}
		return version, nil
	})
	return version, err
}

// readFormat is checkFormat for a read-only store.
func (s *Store) readFormat(ctx context.Context) error {
	value, _, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get(s.Section(keyspace.Format)).Wait()
	})
	if (kv.IsCode(err, kv.CodeFileCorrupt) || err == nil && value == nil) && s.o.Salvage {
		s.o.Logger.Warn("the store's format cannot be read; assuming the current one")
		return nil
	}
	if err != nil {
		return err
	}
	version, _, err := tuple.TakeInt(value)
	switch {
	case err != nil:
		return db.Corrupt("format version", err)
	case version > keyspace.FormatVersion:
		return db.UnknownFormat("the store", version, keyspace.FormatVersion)
	case version < keyspace.FormatVersion:
		return fault.Errf(fault.Unavailable, "",
			"the store has format %d; start a node on it once to upgrade it to %d", version,
			keyspace.FormatVersion)
	}
	return nil
}

func (s *Store) checkFormat(ctx context.Context) error {
	key := s.Section(keyspace.Format)
	_, c, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		value, err := tx.Get(key).Wait()
		if err != nil {
			return struct{}{}, err
		}
		at, err := tx.ReadVersion().Wait()
		if err != nil {
			return struct{}{}, err
		}
		s.Clock.Saw(at)
		if value == nil {
			tx.Set(key, tuple.AppendInt(nil, keyspace.FormatVersion))
			return struct{}{}, s.ReadInstallation(tx)
		}
		version, _, err := tuple.TakeInt(value)
		if err != nil {
			return struct{}{}, db.Corrupt("format version", err)
		}
		if version > keyspace.FormatVersion {
			return struct{}{}, db.UnknownFormat("the store", version, keyspace.FormatVersion)
		}
		if version < keyspace.FormatVersion {
			if version < 2 {
				if err := db.UpgradePrefixes(s.Store, tx); err != nil {
					return struct{}{}, err
				}
			}
			tx.Set(key, tuple.AppendInt(nil, keyspace.FormatVersion))
		}
		return struct{}{}, s.ReadInstallation(tx)
	})
	s.Clock.Saw(c.Version) // a new store had no version to read
	return err
}

// Close stops the Store's background work and waits for it. It also clears the transaction ids of finished writes.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	index.PublishedOf(s.Store).Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return s.Ids.Clear(ctx, s.Engine)
}

// LimitPartitions sets a function that returns the maximum size of a partition, in bytes of documents and attachments;
// 0 or less means none. A partition that has reached it refuses edits that make a document larger: Forbidden, named
// partition_overflow. limit is called for every write and must not block.
func (s *Store) LimitPartitions(limit func() int64) {
	write.StateOf(s.Store).PartitionLimit.Store(&limit)
}

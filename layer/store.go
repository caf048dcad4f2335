package layer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/aggregate"
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

// Options of a Store. The zero value has the defaults of node.yaml.
type Options struct {
	// Root is the prefix of all keys, from the operator's directory in FoundationDB; empty in the embedded engine.
	Root []byte
	// MaxShards caps the changes shards of one database (P5; changes.max_shards). 0 means 64.
	MaxShards int
	// MaxDocument is the largest document body in bytes. 0 means 8,000,000.
	MaxDocument int
	// MaxAttachment is the largest attachment in bytes. 0 means 1 GiB.
	MaxAttachment int64
	// Owner says that the engine is this process's own, as a store in a directory is. Uploads that were begun before it
	// was opened are removed at once then. One that another process goes on with fails, and has to be sent again.
	Owner bool
	// ReadOnly is for an engine that takes no writes: nothing is made or brought up to date, and nothing is swept.
	// Salvage opens the store also where what it says of itself is damaged.
	ReadOnly, Salvage bool
	Logger            *slog.Logger
	// ReduceTime bounds the JavaScript reductions of one query. 0 means 30 s.
	ReduceTime time.Duration
	// PartialRows is how many rows a partial aggregate of a view stands for at most, and how many partials one of a
	// higher level. More makes the edges of a range slower, which are read by rows; fewer makes more partials. It may
	// be changed at any time. 0 means 64.
	PartialRows int
	// CleanupAfter is how long after a design document has changed the indexes that none has any more are removed, by a
	// job (V8). 0 means that only CleanupViews does.
	CleanupAfter time.Duration
	// Compaction is when databases are compacted by themselves; the zero value is never.
	Compaction compact.Compaction
	// Scripts runs the map functions of design documents; nil means that no index can be built. The caller closes it
	// after the Store.
	Scripts *script.Sandbox
	// Validator runs what design documents say about writes; nil means that they say nothing.
	Validator db.Validator
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

// Store is all databases in one engine. Safe for concurrent use. It does not own the engine: close the Store first,
// then the engine.
type Store struct {
	*db.Store
	jobStore
	compactStore
	checkStore
	exportStore

	o      Options
	upkeep *upkeep.Upkeep
	stop   context.CancelFunc
	done   sync.WaitGroup // the goroutines of upkeep
}

// Open prepares an engine for use: writes the format version into an empty store, brings an older one up to it, refuses
// a newer one, starts the sweep of transaction ids.
func Open(ctx context.Context, e kv.Engine, o Options) (*Store, error) {
	o = o.withDefaults()
	base := db.NewStore(e, o.Root, o.MaxShards)
	s := &Store{
		Store: base, jobStore: jobs.OfStore(base), compactStore: compact.OfStore(base), checkStore: check.OfStore(base),
		exportStore: export.OfStore(base), o: o, upkeep: &upkeep.Upkeep{Log: o.Logger},
	}
	s.fillSlots()
	s.Observers = []func(*db.Txn){feed.NoteEntries, compact.NoteSuperseded}
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

// fillSlots gives every part of the layer what it has of the options, and its caches.
func (s *Store) fillSlots() {
	o := &s.o
	jobs.BeatsSlot.Fill(s.Store, &jobs.Beats{})
	feed.Slot.Fill(s.Store, &feed.State{Shape: feed.DefaultShape, Log: o.Logger})
	design.Slot.Fill(s.Store, &design.State{
		Scripts: o.Scripts, Log: o.Logger,
		Designs: cache.New[design.Key, *design.Design](design.KeptDesigns),
		Maps:    cache.New[string, *script.Maps](design.KeptMaps),
	})
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
	query.Slot.Fill(s.Store, &query.State{
		Scripts: o.Scripts, Reduces: cache.New[string, *script.Reduce](query.KeptReduces), ReduceTime: o.ReduceTime,
	})
}

// FormatOf is the format of the store that lies in an engine under a root, 0 where there is none yet. It changes
// nothing. A store in an older format than keyspace.FormatVersion is brought to that by Open, for good.
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

// readFormat is checkFormat for a store that is only read.
func (s *Store) readFormat(ctx context.Context) error {
	value, _, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get(s.Section(keyspace.Format)).Wait()
	})
	if (kv.IsCode(err, kv.CodeFileCorrupt) || err == nil && value == nil) && s.o.Salvage {
		s.o.Logger.Warn("the store's format cannot be read, and is taken for the present one")
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
			"the store has format %d; start a node on it once, which brings it to %d", version,
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
	s.Clock.Saw(c.Version) // of a new store nothing could be read
	return err
}

// Close stops the Store's background work and waits for it. Transaction ids of finished writes are cleared on the way.
func (s *Store) Close() error {
	s.stop()
	s.done.Wait()
	index.PublishedOf(s.Store).Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return s.Ids.Clear(ctx, s.Engine)
}

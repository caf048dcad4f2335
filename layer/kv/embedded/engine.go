// Package embedded is the engine for one machine: FoundationDB's contract on a Pebble store in one directory, without
// a server (clause S2).
//
// A transaction reads from a Pebble snapshot shared by all transactions with its read version, or takes single rows
// from a cache (rowcache), and buffers its writes. At commit, one sequencer goroutine checks its reads against recent
// writes (conflict), gives it a version and applies it; one syncer goroutine waits for the log to be on disk,
// publishes the version and answers. While one group of commits syncs, the next is resolved and applied. Readers get
// a version only once it is synced, so that nobody sees data that a crash could take back.
//
// This is the only package that knows Pebble.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/commit"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/compact"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/guard"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/storelock"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/rowcache"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/txn"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
	"github.com/divandb/divan/layer/kv/embedded/internal/watch"
)

// Options are the options of Open. The zero value is right for a small machine.
type Options struct {
	// CacheBytes is memory for caching: at most a quarter for single rows, the rest for blocks and memtables, which
	// Pebble charges to the block cache. 0 is 128 MiB.
	CacheBytes int64
	// MemTableBytes is the size of a memtable; up to three exist while they are flushed. 0 is 16 MiB.
	MemTableBytes int64
	// ResolverBytes bounds the memory for finding conflicts with recent writes. When it is full, transactions that
	// have been open for long fail with CodeTooOld before their five seconds are over. 0 is 24 MiB. For a moment, up
	// to twice as much is used.
	ResolverBytes int
	// BallastBytes is the size of a file that reserves disk space. It is emptied when something else has filled the
	// disk, so that the store can still delete and compact. It is at most a thirty-second of the disk. 0 means no
	// ballast.
	BallastBytes int64
	// Compression is the density of the store. The zero value is CompressFast.
	Compression Compression
	// MaxWatches bounds the number of unfinished watches. 0 is 100,000.
	MaxWatches int
	// Logger gets messages for the operator. nil is slog.Default().
	Logger *slog.Logger

	// transactionTime replaces the five seconds in tests.
	transactionTime time.Duration
	// fs replaces the disk in tests.
	fs vfs.FS
	// lockFileOnly locks the store as if directories could not be locked.
	lockFileOnly bool
	// beforeFlush is called in tests before the inspector starts a flush.
	beforeFlush func()
}

func (o Options) withDefaults() Options {
	if o.CacheBytes <= 0 {
		o.CacheBytes = 128 << 20
	}
	if o.MemTableBytes <= 0 {
		o.MemTableBytes = 16 << 20
	}
	if o.ResolverBytes <= 0 {
		o.ResolverBytes = 24 << 20
	}
	if o.MaxWatches <= 0 {
		o.MaxWatches = 100_000
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.transactionTime <= 0 {
		o.transactionTime = kv.TransactionSeconds * time.Second
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	return o
}

// Engine is an open store. It implements kv.Engine and the optional abilities listed below it.
type Engine struct {
	kv.Counts

	store   store.Store
	lock    *storelock.Lock
	horizon *horizon.Horizon // unused if the store is open for reading only
	o       Options

	rows      *rowcache.Cache
	views     versions.Views
	snapshots versions.Closer
	watches   watch.Watches
	txs       txn.Parts
	iterators versions.Iterators
	commits   commit.Committer
	space     *room.Space
	reclaimer compact.Reclaimer
	standby   *standby // nil if the store could be opened for writing at once

	guard     guard.Guard
	damage    damage.Damage
	inspector damage.Inspector
	reading   *readOnly // set if the store is open for reading only, else nil

	compactions compact.Scheduler
	copying     sync.Mutex // held by Checkpoint and shut
	closeOnce   sync.Once
	closeErr    error
}

var (
	_ kv.Engine       = (*Engine)(nil)
	_ kv.Snapshotter  = (*Engine)(nil)
	_ kv.Checkpointer = (*Engine)(nil)
	_ kv.Failer       = (*Engine)(nil)
	_ kv.Degrader     = (*Engine)(nil)
	_ kv.Verifier     = (*Engine)(nil)
	_ kv.Reclaimer    = (*Engine)(nil)
)

// Open opens the store in dir, and creates it if there is none. A torn tail left by a crash is repaired silently.
// Open fails if logs, manifest or markers lack synced data, or if the directory is in use. A damaged table affects
// only the reads that meet it. If the disk is full or not writable, an existing store is first opened for reading:
// commits fail with CodeDiskFull or CodeUnwritable until it can be written. The caller closes the engine.
func Open(dir string, o Options) (*Engine, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir) // one name per directory, or its lock could be taken twice
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	e := newEngine(dir, o)
	last, err := e.open(dir)
	if err != nil {
		if e.space != nil {
			close(e.store.Stop)
			e.store.Running.Wait()
		}
		return nil, failure.ExplainDenied(err)
	}
	e.start(last)
	if e.standby != nil {
		go e.standby.finish(e)
	} else {
		e.guard.Armed.Store(true)
	}
	return e, nil
}

// newEngine returns an engine that is not open yet.
func newEngine(dir string, o Options) *Engine {
	e := &Engine{o: o, rows: rowcache.New(o.CacheBytes / 4), horizon: horizon.New(o.fs, dir)}
	e.store.Prepare(dir, o.fs, o.Logger)
	e.damage.Prepare()
	e.compactions.More = make(chan struct{}, 1)
	return e
}

// connect connects the parts with each other, once the disk space is known.
func (e *Engine) connect(space *room.Space) {
	e.space = space
	space.Busy, space.Pending = e.commits.Busy.Elapsed, e.reclaimer.Pending
	e.guard.Store, e.guard.Horizon, e.guard.Lock, e.guard.Space = &e.store, e.horizon, e.lock, space
	e.inspector = damage.Inspector{
		Store: &e.store, Damage: &e.damage, Space: space, AllHeld: e.compactions.AllHeld, ReadOnly: e.reading != nil,
		Cleared: func(spans []keys.Span) { e.reclaimer.Note(0, true, spans...) }, BeforeFlush: e.o.beforeFlush,
	}
	e.reclaimer.Store, e.reclaimer.Space, e.reclaimer.Damage, e.reclaimer.Guard = &e.store, space, &e.damage, &e.guard
	e.reclaimer.Views, e.reclaimer.Snapshots = &e.views, &e.snapshots
	e.txs = txn.Parts{
		Store: &e.store, Views: &e.views, Iterators: &e.iterators, Watches: &e.watches, Commits: &e.commits,
		Space:    space,
		ReadOnly: e.reading != nil,
	}
}

// start starts the goroutines of an open store.
func (e *Engine) start(last int64) {
	e.snapshots.Start()
	e.views.Limit = e.o.transactionTime
	e.watches.Limit = e.o.MaxWatches
	if e.standby != nil {
		e.views.Publish(e.standby.view(e, last))
	} else {
		e.views.Publish(e.newView(last))
	}
	e.commits.Start(commit.Parts{
		Store: &e.store, Rows: e.rows, Views: &e.views, Snapshots: &e.snapshots, Watches: &e.watches,
		Reclaimer: &e.reclaimer, Damage: &e.damage, Guard: &e.guard, Space: e.space,
	}, last, e.o.ResolverBytes, e.o.transactionTime)
	if e.reading == nil {
		e.store.Running.Go(func() { e.space.Measure(&e.store) })
		room.Settle(e.space, &e.store)
	}
	e.store.Running.Go(e.sweep)
	e.store.Running.Go(e.inspector.Run)
	e.store.Running.Go(e.reclaimer.Run)
}

// open opens the store. After an error it leaves nothing open, unless a Pebble goroutine is blocked for ever (see
// guard).
func (e *Engine) open(dir string) (last int64, err error) {
	defer func() {
		if err != nil && e.store.Failed() == nil && e.standby == nil && !e.guard.Ended.Load() {
			err = errors.Join(err, e.release())
		}
	}()
	db, err := openStore(dir, e.o, e)
	if err != nil {
		return 0, err
	}
	e.store.DB.Store(db)
	if last, err = lastVersion(db); err == nil {
		err = e.horizon.Check(last)
	}
	if err == nil && e.standby == nil {
		err = e.guard.Try(false, func() error { return e.horizon.Settle(last) })
	}
	if err == nil && e.horizon.Absent && last > 0 {
		e.store.Log.Warn("the store was opened without its horizon and has a new one now; commits lost "+
			"before cannot be detected",
			"directory", dir, "version", last)
	}
	if kv.IsCode(err, kv.CodeFileCorrupt) {
		err = failure.Damaged(dir, err) // damage to the private keys
	}
	if err != nil {
		return 0, errors.Join(err, db.Close())
	}
	return last, nil
}

// release closes the files of the store outside Pebble.
func (e *Engine) release() error {
	if e.lock == nil {
		return nil
	}
	return errors.Join(e.horizon.Close(), e.lock.Close())
}

// Name implements kv.Engine.
func (e *Engine) Name() string { return "embedded" }

// newView returns a view of the current state of the store. The sequencer calls it right after it applied version.
func (e *Engine) newView(version int64) *versions.View {
	return e.snapshots.NewView(e.store.DB.Load(), e.rows, version)
}

// sweep releases what abandoned transactions hold.
func (e *Engine) sweep() {
	tick := time.NewTicker(e.o.transactionTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-e.store.Stop:
			return
		case <-e.compactions.More:
			e.compactions.Grant()
		case now := <-tick.C:
			e.views.Sweep(now)
			e.snapshots.Signal()
			e.iterators.Sweep(now)
			e.compactions.Grant()
		}
	}
}

// FreeBytes returns the recent free space on the store's disk. ok is false if the file system does not tell.
func (e *Engine) FreeBytes() (free int64, ok bool) { return e.space.FreeBytes() }

// SpareBytes returns a function that returns how much of the disk of an engine files of others may take until writes
// come close to being refused, which may be negative. The function asks the file system; ok is false if that does not
// tell. It is nil if the engine is not of this package.
func SpareBytes(e kv.Engine) func() (spare int64, ok bool) {
	if own, is := e.(*Engine); is {
		return own.space.Spare
	}
	return nil
}

// SizeBytes returns the size of the store's files, without the ballast. ok is false before the store is open.
func (e *Engine) SizeBytes() (size int64, ok bool) {
	db := e.store.DB.Load()
	if db == nil {
		return 0, false
	}
	return int64(db.Metrics().DiskSpaceUsage()), true
}

// WindowBytes returns the approximate memory for finding conflicts and reading older versions.
func (e *Engine) WindowBytes() int64 {
	return e.commits.Window.Load() + int64(e.views.Count())*versions.ViewBytes
}

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction { return e.txs.Begin(ctx) }

// OpenSnapshot implements kv.Snapshotter. While the snapshot is open, the space of overwritten rows is not freed.
func (e *Engine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	return e.txs.OpenSnapshot(ctx)
}

// Failed implements kv.Failer.
func (e *Engine) Failed() error { return e.store.Failed() }

// Close implements kv.Engine. Commits that are being written are finished and answered; all others, and reads and
// watches, end with CodeCancelled.
//
// After a disk failure Pebble may never return, and while it waits for disk space it does not return soon. Then Close
// waits only for a moment: the directory stays locked until the process ends.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.store.Closing.Store(true)
		e.commits.Queue.Close()
		if e.damage.Full.Load() && e.damage.Waiting.Load() > 0 {
			e.inspector.FailHeld() // operations that wait for level 0 would never end
		}
		close(e.store.Stop)
		close(e.damage.Closing)
		e.watches.Close()
		done := make(chan error, 1)
		go func() { done <- e.shut() }()
		select {
		case e.closeErr = <-done:
		case <-e.store.Failing:
			select {
			case <-done: //nolint:errcheck // the failure that came first counts
			case <-time.After(time.Second):
			}
		case <-e.space.Stalled():
			select {
			case e.closeErr = <-done:
			case <-time.After(time.Second):
			}
		}
		e.guard.Ended.Store(true)
		e.closeErr = errors.Join(e.store.Failed(), e.closeErr)
	})
	return e.closeErr
}

// shut waits for everything that uses Pebble, and closes it.
func (e *Engine) shut() error {
	e.store.Running.Wait()
	e.copying.Lock()
	defer e.copying.Unlock()
	e.iterators.Close()
	e.views.Close()
	e.snapshots.Stop()
	if e.reading != nil {
		return errors.Join(e.store.DB.Load().Close(), e.reading.lock.Close())
	}
	if e.standby != nil && !e.standby.end() {
		return e.store.DB.Load().Close() // the goroutine that opens the store for writing still has the lock
	}
	if err := e.store.DB.Load().Close(); err != nil {
		return err
	}
	if e.store.Failed() != nil {
		return e.release()
	}
	var err error
	if e.lock.Lost() == nil {
		err = e.guard.RestoreHorizon()
	}
	return errors.Join(err, e.horizon.Settle(e.horizon.Version()), e.release())
}

// Checkpoint implements kv.Checkpointer. If dir is on the same disk, immutable files are linked, so that the copy
// takes little space until the store has changed. The copy is opened and every block of it is read. One checkpoint
// runs at a time.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	e.copying.Lock()
	defer e.copying.Unlock()
	switch {
	case e.store.Closing.Load():
		return failure.ErrClosed
	case e.reading != nil:
		return failure.ErrReadOnly
	case e.store.Failed() != nil:
		return e.store.Failed()
	case e.space.Opening.Load():
		return e.space.Refusal()
	case ctx.Err() != nil:
		return failure.OfContext(ctx)
	}
	for left := checkpointAttempts; ; left-- {
		before, spoiled, err := e.copyFiles(ctx, dir)
		if err != nil {
			return err
		}
		if !spoiled || left == 1 {
			if err := e.horizon.CopyTo(dir, before); err != nil {
				return err
			}
			return e.checkCopy(ctx, dir)
		}
		if err := e.store.FS.RemoveAll(dir); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
}

// checkpointAttempts is how often Checkpoint copies if the manifest is found damaged each time.
const checkpointAttempts = 3

// copyFiles makes Pebble copy the store. spoiled reports that the manifest was found damaged afterwards, so that the
// damage may have been copied: ReplaceLogs does not check what Pebble writes during the copy.
func (e *Engine) copyFiles(ctx context.Context, dir string) (before horizon.Mark, spoiled bool, err error) {
	if err := e.guard.ReplaceLogs(ctx); err != nil {
		return before, false, err
	}
	before = e.horizon.Mark()
	if err := e.store.DB.Load().Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return before, false, fmt.Errorf("embedded: checkpoint: %w", err)
	}
	spoiled, err = e.guard.ManifestMended()
	return before, spoiled, err
}

// DiskLow reports whether the store's disk will soon be full, while writes are still accepted or already refused, and
// how much is left.
func (e *Engine) DiskLow() (text string, low bool) { return e.space.Low() }

// Degraded implements kv.Degrader.
func (e *Engine) Degraded() []string {
	return append(e.space.Degraded(), e.damage.Degraded(e.store.Dir)...)
}

// Reclaim implements kv.Reclaimer.
func (e *Engine) Reclaim(_ context.Context, r kv.KeyRange) error {
	if err := keys.LegalRange(r); err != nil {
		return err
	}
	if s := keys.Of(r); !s.Empty() {
		e.reclaimer.Note(e.views.Version(), true, s)
	}
	return nil
}

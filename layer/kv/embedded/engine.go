// Package embedded is the engine for one machine: FoundationDB's contract on a Pebble store in one directory, with no
// server (clause S2).
//
// A transaction reads a Pebble snapshot that all transactions of its read version share, single rows out of memory
// where they are known (rows), and keeps its writes in memory. At commit, one sequencer goroutine checks its reads
// against what was written since (resolver), gives it a version and applies it; one syncer goroutine waits for the log
// to be on disk, makes the version readable and answers. While one group of commits syncs, the next is resolved and
// applied. A version is handed out to readers only once it is synced, so that nobody sees what a crash could take back.
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

// Options of Open. The zero value is right for a small machine.
type Options struct {
	// CacheBytes is for what is read again: a quarter at most for single rows, the rest for blocks, memtables included,
	// whose memory Pebble takes out of it. 0 is 128 MiB.
	CacheBytes int64
	// MemTableBytes is one memtable; up to three are held while they are flushed. 0 is 16 MiB.
	MemTableBytes int64
	// ResolverBytes bounds what is remembered of recent writes to find conflicts. When it is full, transactions that
	// have been open for long fail with CodeTooOld before their five seconds are over. 0 is 24 MiB. Up to twice as much
	// is held for a moment.
	ResolverBytes int
	// BallastBytes is the size of a file that takes room, to be given up when something else has filled the disk: the
	// store then can still delete and compact. It is at most a thirty-second part of the disk. 0 is none.
	BallastBytes int64
	// Compression is how densely the store is written. The zero value is CompressFast.
	Compression Compression
	// MaxWatches bounds the watches that wait at one time. 0 is 100,000.
	MaxWatches int
	// Logger gets what the operator should know. nil is slog.Default().
	Logger *slog.Logger

	// transactionTime replaces the five seconds in tests.
	transactionTime time.Duration
	// fs replaces the disk in tests.
	fs vfs.FS
	// lockFileOnly has the store locked as where directories cannot be.
	lockFileOnly bool
	// beforeFlush is called in tests before the inspector's flush asks for room in level 0.
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
	store   store.Store
	lock    *storelock.Lock
	horizon *horizon.Horizon // empty where the store is open for reading only
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
	standby   *standby // nil where the store could be opened at once

	guard     guard.Guard
	damage    damage.Damage
	inspector damage.Inspector
	reading   *readOnly // where the store is open for reading only, else nil

	compactions compact.Scheduler
	copying     sync.Mutex // held by a checkpoint, and by shut
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

// Open opens the store in dir and creates it where there is none. A torn tail that a crash left is repaired silently.
// It is an error where logs, manifest or markers do not have what was synced, and where the directory is in use. A
// damaged table is an error of the reads that meet it alone. Where the disk is full or cannot be written, an existing
// store is opened for reading first: commits fail with CodeDiskFull or CodeUnwritable until it can be written. The
// caller closes the engine.
func Open(dir string, o Options) (*Engine, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir) // one name for a directory, or its lock could be had twice
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

// newEngine is one that is not open yet.
func newEngine(dir string, o Options) *Engine {
	e := &Engine{o: o, rows: rowcache.New(o.CacheBytes / 4), horizon: horizon.New(o.fs, dir)}
	e.store.Prepare(dir, o.fs, o.Logger)
	e.damage.Prepare()
	e.compactions.More = make(chan struct{}, 1)
	return e
}

// know tells the parts of each other, once there is the room on the disk to tell of.
func (e *Engine) know(space *room.Space) {
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

// start starts what runs while the store is open.
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
	}
	e.store.Running.Go(e.sweep)
	e.store.Running.Go(e.inspector.Run)
	e.store.Running.Go(e.reclaimer.Run)
}

// open opens the store and leaves nothing open after an error, unless Pebble met one that it has no way on from.
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
		e.store.Log.Warn("the store is opened without its horizon, and has one from now on; nobody can tell "+
			"whether it has "+
			"all that was acknowledged",
			"directory", dir, "version", last)
	}
	if kv.IsCode(err, kv.CodeFileCorrupt) {
		err = failure.Damaged(dir, err) // the keys that the store has for itself
	}
	if err != nil {
		return 0, errors.Join(err, db.Close())
	}
	return last, nil
}

// release gives up what of the store is held beside Pebble.
func (e *Engine) release() error {
	if e.lock == nil {
		return nil
	}
	return errors.Join(e.horizon.Close(), e.lock.Close())
}

// Name implements kv.Engine.
func (e *Engine) Name() string { return "embedded" }

// newView opens the state of the store as it is now: for the sequencer, right after it applied version.
func (e *Engine) newView(version int64) *versions.View {
	return e.snapshots.NewView(e.store.DB.Load(), e.rows, version)
}

// sweep ends what transactions that were forgotten hold.
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

// FreeBytes is the room on the store's disk, as it was a moment ago. ok is false where the file system does not tell.
func (e *Engine) FreeBytes() (free int64, ok bool) { return e.space.FreeBytes() }

// WindowBytes is the memory that the engine keeps to tell conflicts and to read older versions, nearly.
func (e *Engine) WindowBytes() int64 {
	return e.commits.Window.Load() + int64(e.views.Count())*versions.ViewBytes
}

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction { return e.txs.Begin(ctx) }

// OpenSnapshot implements kv.Snapshotter. It keeps the space of what is overwritten meanwhile from being freed.
func (e *Engine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	return e.txs.OpenSnapshot(ctx)
}

// Failed implements kv.Failer: the error for a commit that was not begun.
func (e *Engine) Failed() error { return e.store.Failed() }

// Close implements kv.Engine. Commits that are being written are finished and answered; all others, reads and watches
// end with CodeCancelled.
//
// After a failure of the disk Pebble may never come back from what it was doing, and not soon from waiting for room on
// it. It is given a moment then, and left alone: the directory stays locked until the process ends.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.store.Closing.Store(true)
		e.commits.Queue.Close()
		if e.damage.Full.Load() && e.damage.Waiting.Load() > 0 {
			e.inspector.FailHeld() // what waits for level 0 would not come to an end
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

// shut waits for all that uses Pebble, and closes it.
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
		return e.store.DB.Load().Close() // what opens the store still has the lock
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

// Checkpoint implements kv.Checkpointer. Files that never change are linked where dir is on the same disk, so that it
// takes little room until the store has moved on. The copy is opened and read back, every block of it. One checkpoint
// is made at a time.
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

// checkpointAttempts is how often Checkpoint copies while the manifest is spoiled time and again.
const checkpointAttempts = 3

// copyFiles has Pebble copy the store. spoiled is whether the manifest was not what was written by then, which may have
// been copied: what Pebble writes while replaceLogs looks is not looked at there.
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

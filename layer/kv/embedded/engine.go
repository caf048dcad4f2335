// Package embedded is the engine for one machine: FoundationDB's contract on a Pebble store in one directory, with no server
// (clause S2).
//
// A transaction reads a Pebble snapshot that all transactions of its read version share, single rows out of memory where they are known (rows), and
// keeps its writes in memory. At commit, one sequencer goroutine checks its reads against what was written since (resolver), gives it a version
// and applies it; one syncer goroutine waits for the log to be on disk, makes the version readable and answers. While one group of commits syncs,
// the next is resolved and applied. A version is handed out to readers only once it is synced, so that nobody sees what a crash could take back.
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
)

// Options of Open. The zero value is right for a small machine.
type Options struct {
	// CacheBytes is for what is read again: a quarter at most for single rows, the rest for blocks, memtables included, whose memory Pebble takes out of
	// it. 0 is 128 MiB.
	CacheBytes int64
	// MemTableBytes is one memtable; up to three are held while they are flushed. 0 is 16 MiB.
	MemTableBytes int64
	// ResolverBytes bounds what is remembered of recent writes to find conflicts. When it is full, transactions that have been open for long
	// fail with CodeTooOld before their five seconds are over. 0 is 24 MiB. Up to twice as much is held for a moment.
	ResolverBytes int
	// BallastBytes is the size of a file that takes room, to be given up when something else has filled the disk: the store then can still delete and
	// compact. It is at most a thirty-second part of the disk. 0 is none.
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
	store   store
	lock    *storeLock
	horizon *horizon // empty where the store is open for reading only
	o       Options

	rows      *rows
	views     views
	snapshots snapshotCloser
	watches   watches
	txs       txParts
	iterators iterators
	commits   committer
	space     *space
	reclaimer reclaimer
	standby   *standby // nil where the store could be opened at once

	guard     guard
	damage    damage
	inspector inspector
	reading   *readOnly // where the store is open for reading only, else nil

	compactions compactions
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
			close(e.store.stop)
			e.store.running.Wait()
		}
		return nil, explainDenied(err)
	}
	e.start(last)
	if e.standby != nil {
		go e.standby.finish(e)
	} else {
		e.guard.armed.Store(true)
	}
	return e, nil
}

// newEngine is one that is not open yet.
func newEngine(dir string, o Options) *Engine {
	e := &Engine{o: o, rows: newRows(o.CacheBytes / 4), horizon: newHorizon(o.fs, dir)}
	e.store.prepare(dir, o.fs, o.Logger)
	e.damage.prepare()
	e.compactions.more = make(chan struct{}, 1)
	return e
}

// know tells the parts of each other, once there is the room on the disk to tell of.
func (e *Engine) know(space *space) {
	e.space = space
	space.busy, space.pending = e.commits.busy.elapsed, e.reclaimer.pending
	e.guard.store, e.guard.horizon, e.guard.lock, e.guard.space = &e.store, e.horizon, e.lock, space
	e.inspector = inspector{
		store: &e.store, damage: &e.damage, space: space, allHeld: e.compactions.allHeld, readOnly: e.reading != nil,
		cleared: func(spans []span) { e.reclaimer.note(0, true, spans...) }, beforeFlush: e.o.beforeFlush,
	}
	e.reclaimer.store, e.reclaimer.space, e.reclaimer.damage, e.reclaimer.guard = &e.store, space, &e.damage, &e.guard
	e.reclaimer.views, e.reclaimer.snapshots = &e.views, &e.snapshots
	e.txs = txParts{
		store: &e.store, views: &e.views, iterators: &e.iterators, watches: &e.watches, commits: &e.commits, space: space,
		readOnly: e.reading != nil,
	}
}

// start starts what runs while the store is open.
func (e *Engine) start(last int64) {
	e.snapshots.start()
	e.views.limit = e.o.transactionTime
	e.watches.limit = e.o.MaxWatches
	if e.standby != nil {
		e.views.publish(e.standby.view(e, last))
	} else {
		e.views.publish(e.newView(last))
	}
	e.commits.start(commitParts{
		store: &e.store, rows: e.rows, views: &e.views, snapshots: &e.snapshots, watches: &e.watches,
		reclaimer: &e.reclaimer, damage: &e.damage, guard: &e.guard, space: e.space,
	}, last, e.o.ResolverBytes, e.o.transactionTime)
	if e.reading == nil {
		e.store.running.Go(func() { e.space.measure(&e.store) })
	}
	e.store.running.Go(e.sweep)
	e.store.running.Go(e.inspector.run)
	e.store.running.Go(e.reclaimer.run)
}

// open opens the store and leaves nothing open after an error, unless Pebble met one that it has no way on from.
func (e *Engine) open(dir string) (last int64, err error) {
	defer func() {
		if err != nil && e.store.failed() == nil && e.standby == nil && !e.guard.ended.Load() {
			err = errors.Join(err, e.release())
		}
	}()
	db, err := openStore(dir, e.o, e)
	if err != nil {
		return 0, err
	}
	e.store.db.Store(db)
	if last, err = lastVersion(db); err == nil {
		err = e.horizon.check(last)
	}
	if err == nil && e.standby == nil {
		err = e.guard.try(false, func() error { return e.horizon.settle(last) })
	}
	if err == nil && e.horizon.absent && last > 0 {
		e.store.log.Warn("the store is opened without its horizon, and has one from now on; nobody can tell whether it has "+
			"all that was acknowledged",
			"directory", dir, "version", last)
	}
	if kv.IsCode(err, kv.CodeFileCorrupt) {
		err = damaged(dir, err) // the keys that the store has for itself
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
	return errors.Join(e.horizon.close(), e.lock.close())
}

// Name implements kv.Engine.
func (e *Engine) Name() string { return "embedded" }

// newView opens the state of the store as it is now: for the sequencer, right after it applied version.
func (e *Engine) newView(version int64) *view {
	return e.snapshots.newView(e.store.db.Load(), e.rows, version)
}

// sweep ends what transactions that were forgotten hold.
func (e *Engine) sweep() {
	tick := time.NewTicker(e.o.transactionTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-e.store.stop:
			return
		case <-e.compactions.more:
			e.compactions.grant()
		case now := <-tick.C:
			e.views.sweep(now)
			e.snapshots.signal()
			e.iterators.sweep(now)
			e.compactions.grant()
		}
	}
}

// FreeBytes is the room on the store's disk, as it was a moment ago. ok is false where the file system does not tell.
func (e *Engine) FreeBytes() (free int64, ok bool) { return e.space.freeBytes() }

// WindowBytes is the memory that the engine keeps to tell conflicts and to read older versions, nearly.
func (e *Engine) WindowBytes() int64 {
	return e.commits.window.Load() + int64(e.views.count())*viewBytes
}

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction { return e.txs.begin(ctx) }

// OpenSnapshot implements kv.Snapshotter. It keeps the space of what is overwritten meanwhile from being freed.
func (e *Engine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	return e.txs.openSnapshot(ctx)
}

// Failed implements kv.Failer: the error for a commit that was not begun.
func (e *Engine) Failed() error { return e.store.failed() }

// Close implements kv.Engine. Commits that are being written are finished and answered; all others, reads and watches end with
// CodeCancelled.
//
// After a failure of the disk Pebble may never come back from what it was doing, and not soon from waiting for room on it. It is given a moment then, and
// left alone: the directory stays locked until the process ends.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.store.closing.Store(true)
		e.commits.queue.close()
		if e.damage.full.Load() && e.damage.waiting.Load() > 0 {
			e.inspector.failHeld() // what waits for level 0 would not come to an end
		}
		close(e.store.stop)
		close(e.damage.closing)
		e.watches.close()
		done := make(chan error, 1)
		go func() { done <- e.shut() }()
		select {
		case e.closeErr = <-done:
		case <-e.store.failing:
			select {
			case <-done: //nolint:errcheck // the failure that came first counts
			case <-time.After(time.Second):
			}
		case <-e.space.stalled():
			select {
			case e.closeErr = <-done:
			case <-time.After(time.Second):
			}
		}
		e.guard.ended.Store(true)
		e.closeErr = errors.Join(e.store.failed(), e.closeErr)
	})
	return e.closeErr
}

// shut waits for all that uses Pebble, and closes it.
func (e *Engine) shut() error {
	e.store.running.Wait()
	e.copying.Lock()
	defer e.copying.Unlock()
	e.iterators.close()
	e.views.close()
	e.snapshots.stop()
	if e.reading != nil {
		return errors.Join(e.store.db.Load().Close(), e.reading.lock.Close())
	}
	if e.standby != nil && !e.standby.end() {
		return e.store.db.Load().Close() // what opens the store still has the lock
	}
	if err := e.store.db.Load().Close(); err != nil {
		return err
	}
	if e.store.failed() != nil {
		return e.release()
	}
	var err error
	if e.lock.lost() == nil {
		err = e.guard.restoreHorizon()
	}
	return errors.Join(err, e.horizon.settle(e.horizon.version()), e.release())
}

// Checkpoint implements kv.Checkpointer. Files that never change are linked where dir is on the same disk, so that it
// takes little room until the store has moved on. The copy is opened and read back, every block of it. One checkpoint
// is made at a time.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	e.copying.Lock()
	defer e.copying.Unlock()
	switch {
	case e.store.closing.Load():
		return errClosed
	case e.reading != nil:
		return errReadOnly
	case e.store.failed() != nil:
		return e.store.failed()
	case e.space.opening.Load():
		return e.space.refusal()
	case ctx.Err() != nil:
		return contextError(ctx)
	}
	for left := checkpointAttempts; ; left-- {
		before, spoiled, err := e.copyFiles(ctx, dir)
		if err != nil {
			return err
		}
		if !spoiled || left == 1 {
			if err := e.horizon.copyTo(dir, before); err != nil {
				return err
			}
			return e.checkCopy(ctx, dir)
		}
		if err := e.store.fs.RemoveAll(dir); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
}

// checkpointAttempts is how often Checkpoint copies while the manifest is spoiled time and again.
const checkpointAttempts = 3

// copyFiles has Pebble copy the store. spoiled is whether the manifest was not what was written by then, which may have
// been copied: what Pebble writes while replaceLogs looks is not looked at there.
func (e *Engine) copyFiles(ctx context.Context, dir string) (before mark, spoiled bool, err error) {
	if err := e.guard.replaceLogs(ctx); err != nil {
		return before, false, err
	}
	before = e.horizon.mark()
	if err := e.store.db.Load().Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return before, false, fmt.Errorf("embedded: checkpoint: %w", err)
	}
	spoiled, err = e.guard.manifestMended()
	return before, spoiled, err
}

// Degraded implements kv.Degrader.
func (e *Engine) Degraded() []string {
	return append(e.space.degraded(), e.damage.degraded(e.store.dir)...)
}

// Reclaim implements kv.Reclaimer.
func (e *Engine) Reclaim(_ context.Context, r kv.KeyRange) error {
	if err := legalRange(r); err != nil {
		return err
	}
	if s := spanOf(r); !s.empty() {
		e.reclaimer.note(e.views.version(), true, s)
	}
	return nil
}

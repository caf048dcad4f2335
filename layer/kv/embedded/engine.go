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
	"sync/atomic"
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

var errClosed = kv.NewError(kv.CodeCancelled, "the store is closed", nil)

// Engine is an open store. It implements kv.Engine and the optional abilities listed below it.
type Engine struct {
	db      atomic.Pointer[pebble.DB] // replaced once, where the store was opened for reading first (see standby)
	dir     string                    // without symbolic links once it is locked
	lock    *storeLock
	horizon horizon
	o       Options
	log     *slog.Logger

	rows      *rows
	views     views
	snapshots snapshotCloser
	watches   watches
	iterators iterators
	commits   committer
	space     *space
	reclaimer reclaimer
	standby   *standby // nil where the store could be opened at once

	// failure is set once, when the disk failed: nothing is acknowledged after it. failing is closed right after.
	failure atomic.Pointer[kv.Error]
	failing chan struct{}
	guard   guard
	damage  damage
	reading *readLock       // where the store is open for reading only, else nil
	leftOut map[string]bool // tables that are left out then
	lacks   []kv.Fault      // what is not there then, see lacking
	// mirrored is whether the list of tables is read from its mirror then.
	mirrored bool

	compactions compactions
	copying     sync.Mutex // held by a checkpoint, and by shut
	closing     atomic.Bool
	closeOnce   sync.Once
	closeErr    error
	stop        chan struct{}  // closed by Close, for the goroutines below
	running     sync.WaitGroup // sequencer, syncer, sweeper, inspector, reclaimer, measure and the space's
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
	e := &Engine{dir: dir, o: o, log: o.Logger, rows: newRows(o.CacheBytes / 4), stop: make(chan struct{}), failing: make(chan struct{})}
	e.guard.fail, e.guard.log = e.fail, e.log
	e.damage.init()
	e.compactions.more = make(chan struct{}, 1)
	last, err := e.open(dir)
	if err != nil {
		if e.space != nil {
			close(e.stop)
			e.running.Wait()
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
	e.commits.start(e, last)
	if e.reading == nil {
		e.running.Go(e.measure)
	}
	e.running.Add(3)
	go e.sweep()
	go e.inspect()
	go e.reclaim()
}

// open opens the store and leaves nothing open after an error, unless Pebble met one that it has no way on from.
func (e *Engine) open(dir string) (last int64, err error) {
	defer func() {
		if err != nil && e.Failed() == nil && e.standby == nil && !e.guard.ended.Load() {
			err = errors.Join(err, e.release())
		}
	}()
	db, err := openStore(dir, e.o, e)
	if err != nil {
		return 0, err
	}
	e.db.Store(db)
	if last, err = lastVersion(db); err == nil {
		err = e.horizon.check(last)
	}
	if err == nil && e.standby == nil {
		err = e.guard.try(false, func() error { return e.horizon.settle(last) })
	}
	if err == nil && e.horizon.absent && last > 0 {
		e.log.Warn("the store is opened without its horizon, and has one from now on; nobody can tell whether it has "+
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
	e.snapshots.open.Add(1)
	return &view{version: version, snap: e.db.Load().NewSnapshot(), rows: e.rows, closer: &e.snapshots}
}

// sweep ends what transactions that were forgotten hold.
func (e *Engine) sweep() {
	defer e.running.Done()
	tick := time.NewTicker(e.o.transactionTime / 5)
	defer tick.Stop()
	for {
		select {
		case <-e.stop:
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

// acknowledge is called with a version that is synced, and before anyone is told of it. After an error nobody may be.
func (e *Engine) acknowledge(version int64) error {
	if err := e.lock.lost(); err != nil {
		return err
	}
	return e.guard.try(false, func() error { return e.horizon.acknowledge(version) })
}

// fail stops all writing: what is not yet acknowledged never will be.
func (e *Engine) fail(cause error) {
	err := kv.NewError(kv.CodeIOError, "the disk failed; the store no longer accepts writes", cause)
	var lost *lostError
	switch {
	case errors.As(cause, &lost):
		err = kv.NewError(kv.CodeIOError, "the store is not at its place any more; it no longer accepts writes", cause)
	case isDiskFull(cause):
		err = kv.NewError(kv.CodeDiskFull, "the disk is full and may have lost what it was given; make room and start again", cause)
	}
	if e.failure.CompareAndSwap(nil, err) {
		close(e.failing)
		e.log.Error("the store no longer accepts writes", "code", int(err.Code), "error", cause)
	}
}

// FreeBytes is the room on the store's disk, as it was a moment ago. ok is false where the file system does not tell.
func (e *Engine) FreeBytes() (free int64, ok bool) { return e.space.free.Load(), e.space.total > 0 }

// WindowBytes is the memory that the engine keeps to tell conflicts and to read older versions, nearly.
func (e *Engine) WindowBytes() int64 {
	return e.commits.window.Load() + int64(e.views.count())*viewBytes
}

// Failed implements kv.Failer: the error for a commit that was not begun.
func (e *Engine) Failed() error {
	if err := e.failure.Load(); err != nil {
		return err
	}
	return nil
}

// Close implements kv.Engine. Commits that are being written are finished and answered; all others, reads and watches end with
// CodeCancelled.
//
// After a failure of the disk Pebble may never come back from what it was doing, and not soon from waiting for room on it. It is given a moment then, and
// left alone: the directory stays locked until the process ends.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.closing.Store(true)
		e.commits.queue.close()
		if e.damage.full.Load() && e.damage.waiting.Load() > 0 {
			e.failHeld() // what waits for level 0 would not come to an end
		}
		close(e.stop)
		close(e.damage.closing)
		e.watches.close()
		done := make(chan error, 1)
		go func() { done <- e.shut() }()
		select {
		case e.closeErr = <-done:
		case <-e.failing:
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
		e.closeErr = errors.Join(e.Failed(), e.closeErr)
	})
	return e.closeErr
}

// shut waits for all that uses Pebble, and closes it.
func (e *Engine) shut() error {
	e.running.Wait()
	e.copying.Lock()
	defer e.copying.Unlock()
	e.iterators.close()
	e.views.close()
	e.snapshots.stop()
	if e.reading != nil {
		return errors.Join(e.db.Load().Close(), e.reading.Close())
	}
	if e.standby != nil && !e.standby.end() {
		return e.db.Load().Close() // what opens the store still has the lock
	}
	if err := e.db.Load().Close(); err != nil {
		return err
	}
	if e.Failed() != nil {
		return e.release()
	}
	var err error
	if e.lock.lost() == nil {
		err = e.restoreHorizon()
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
	case e.closing.Load():
		return errClosed
	case e.reading != nil:
		return errReadOnly
	case e.Failed() != nil:
		return e.Failed()
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
		if err := e.o.fs.RemoveAll(dir); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
}

// checkpointAttempts is how often Checkpoint copies while the manifest is spoiled time and again.
const checkpointAttempts = 3

// copyFiles has Pebble copy the store. spoiled is whether the manifest was not what was written by then, which may have
// been copied: what Pebble writes while replaceLogs looks is not looked at there.
func (e *Engine) copyFiles(ctx context.Context, dir string) (before mark, spoiled bool, err error) {
	if err := e.replaceLogs(ctx); err != nil {
		return before, false, err
	}
	before = e.horizon.mark()
	if err := e.db.Load().Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return before, false, fmt.Errorf("embedded: checkpoint: %w", err)
	}
	spoiled, err = e.manifestMended()
	return before, spoiled, err
}

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction {
	t := &transaction{e: e, ctx: ctx}
	t.mu.wantVersion = -1
	t.mu.committed = -1
	return t
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// Store is what all parts of an engine share: the database, where it is, and whether it goes on.
type Store struct {
	DB  atomic.Pointer[pebble.DB] // replaced once, where the store was opened for reading first (see standby)
	FS  vfs.FS
	Dir string // without symbolic links once it is locked
	Log *slog.Logger

	// failure is set once, when the disk failed: nothing is acknowledged after it. Failing is closed right after.
	failure atomic.Pointer[kv.Error]
	Failing chan struct{}

	Closing atomic.Bool
	Stop    chan struct{}  // closed by Close, for the goroutines below
	Running sync.WaitGroup // sequencer, syncer, sweeper, inspector, reclaimer, and what looks after the disk's room
}

// Prepare makes the zero value ready for a store that is not open yet.
func (s *Store) Prepare(dir string, fs vfs.FS, log *slog.Logger) {
	s.Dir, s.FS, s.Log = dir, fs, log
	s.Failing, s.Stop = make(chan struct{}), make(chan struct{})
}

// Fail stops all writing: what is not yet acknowledged never will be.
func (s *Store) Fail(cause error) {
	err := kv.NewError(kv.CodeIOError, "the disk failed; the store no longer accepts writes", cause)
	var lost *failure.LostError
	switch {
	case errors.As(cause, &lost):
		err = kv.NewError(kv.CodeIOError, "the store is not at its place any more; it no longer accepts writes", cause)
	case failure.IsDiskFull(cause):
		err = kv.NewError(kv.CodeDiskFull,
			"the disk is full and may have lost what it was given; make room and start again",
			cause)
	}
	if s.failure.CompareAndSwap(nil, err) {
		close(s.Failing)
		s.Log.Error("the store no longer accepts writes", "code", int(err.Code), "error", cause)
	}
}

// Failed is the error for a commit that was not begun, nil while the store takes writes.
func (s *Store) Failed() error {
	if err := s.failure.Load(); err != nil {
		return err
	}
	return nil
}

// UntilStop is a context that ends when the store is closed.
func (s *Store) UntilStop() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	s.Running.Go(func() {
		<-s.Stop
		cancel()
	})
	return ctx, cancel
}

// OpenPebble opens a database on a goroutine of its own, which Pebble can keep where it has no way on, see
// pebbleLog.Fatalf.
func (s *Store) OpenPebble(dir string, po *pebble.Options) (db *pebble.DB, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		db, err = pebble.Open(dir, po)
	}()
	select {
	case <-done:
		return db, err
	case <-s.Failing:
	}
	return nil, s.Failed()
}

// Flush brings what is in memory into tables. It calls begun, which may be nil, once it does not wait any more for room
// in level 0.
func (s *Store) Flush(ctx context.Context, begun func()) error {
	flushed, err := s.DB.Load().AsyncFlush()
	if err != nil {
		return err
	}
	if begun != nil {
		begun()
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// getter is what a database, a snapshot and a batch have in common.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// Value is the value of key in new memory, nil where there is none.
func Value(g getter, key []byte) ([]byte, error) {
	v, closer, err := g.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failure.OfRead(err)
	}
	c := make([]byte, len(v))
	copy(c, v)
	return c, closer.Close()
}

// PebbleLog gives Pebble's log to slog: its news at debug level, its errors as errors.
type PebbleLog struct {
	Log  *slog.Logger
	Fail func(error)
}

// Infof implements pebble.Logger.
func (l PebbleLog) Infof(format string, args ...any) {
	l.Log.Debug("pebble", "event", lazy{format, args})
}

// Errorf implements pebble.Logger.
func (l PebbleLog) Errorf(format string, args ...any) {
	l.Log.Error("pebble", "event", lazy{format, args})
}

// Fatalf must not return: Pebble expects the process to end. It stops the engine instead and keeps the goroutine that
// it is on for ever, as guard does, whether that is Pebble's or ours: who waits for the sequencer, for Open or for
// Close also waits for the engine to fail.
func (l PebbleLog) Fatalf(format string, args ...any) {
	cause := fmt.Errorf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok {
			cause = fmt.Errorf("pebble: %w", err)
			break
		}
	}
	l.Fail(cause)
	select {}
}

// lazy formats only what is logged.
type lazy struct {
	format string
	args   []any
}

func (l lazy) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf(l.format, l.args...)) }

// PebbleFormat is the format of Pebble's files.
const PebbleFormat = pebble.FormatValueSeparation

// syncInLog and syncLater are Pebble's write options under the names of what they mean here.
var (
	SyncInLog = pebble.Sync
	SyncLater = pebble.NoSync
)

// StopWrites is how many tables lie above each other in level 0, at most. Writes wait for compaction then.
const StopWrites = 24

// VersionKey holds the version of the last group of commits, 8 bytes big-endian. It is in the first batch of every
// group, so that the log cannot hold a commit without it. The key is one of the engine's own, see endOfKeys.
var VersionKey = []byte("\xff\x00version")

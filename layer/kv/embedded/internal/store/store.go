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

// Store is shared by all parts of an engine: the database, its directory, and whether it has failed.
type Store struct {
	DB  atomic.Pointer[pebble.DB] // replaced once if the store was first opened for reading (see standby)
	FS  vfs.FS
	Dir string // free of symbolic links once the store is locked
	Log *slog.Logger

	// failure is set once, when the disk failed: no commit is acknowledged afterwards. Failing is closed right after.
	failure atomic.Pointer[kv.Error]
	Failing chan struct{}

	Closing atomic.Bool
	Stop    chan struct{} // closed by Close, for the goroutines below
	// sequencer, syncer, sweeper, inspector, reclaimer, and the goroutines that watch disk space
	Running sync.WaitGroup
}

// Prepare initialises the zero value for a store that is not open yet.
func (s *Store) Prepare(dir string, fs vfs.FS, log *slog.Logger) {
	s.Dir, s.FS, s.Log = dir, fs, log
	s.Failing, s.Stop = make(chan struct{}), make(chan struct{})
}

// Fail stops all writing: commits that are not yet acknowledged never will be.
func (s *Store) Fail(cause error) {
	err := kv.NewError(kv.CodeIOError, "the disk failed; the store no longer accepts writes", cause)
	var lost *failure.LostError
	switch {
	case errors.As(cause, &lost):
		err = kv.NewError(kv.CodeIOError, "the store's directory was moved or replaced; it takes no more writes", cause)
	case failure.IsDiskFull(cause):
		err = kv.NewError(kv.CodeDiskFull,
			"the disk is full and may have lost recent writes; free space and start again",
			cause)
	}
	if s.failure.CompareAndSwap(nil, err) {
		close(s.Failing)
		s.Log.Error("the store no longer accepts writes", "code", int(err.Code), "error", cause)
	}
}

// Failed returns the error for a commit that has not begun, or nil while the store takes writes.
func (s *Store) Failed() error {
	if err := s.failure.Load(); err != nil {
		return err
	}
	return nil
}

// UntilStop returns a context that ends when the store is closed.
func (s *Store) UntilStop() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	s.Running.Go(func() {
		<-s.Stop
		cancel()
	})
	return ctx, cancel
}

// OpenPebble opens a database on its own goroutine, which PebbleLog.Fatalf can block for ever if Pebble cannot
// continue.
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

// Flush writes the memtables to tables. It calls begun, which may be nil, once it no longer waits for room in level
// 0.
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

// getter is the common interface of a database, a snapshot and a batch.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// Value returns the value of key in new memory, or nil if there is none.
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

// PebbleLog passes Pebble's log to slog: information at debug level, errors as errors.
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

// Fatalf must not return: Pebble expects the process to end. It stops the engine and blocks the calling goroutine for
// ever, as guard does, whether that is one of Pebble's or ours. Callers that wait for the sequencer, Open or Close
// also wait for the engine's failure.
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

// lazy formats a message only if it is logged.
type lazy struct {
	format string
	args   []any
}

func (l lazy) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf(l.format, l.args...)) }

// PebbleFormat is the format version of Pebble's files.
const PebbleFormat = pebble.FormatValueSeparation

// SyncInLog and SyncLater name Pebble's write options by their effect here.
var (
	SyncInLog = pebble.Sync
	SyncLater = pebble.NoSync
)

// StopWrites is the largest number of overlapping tables in level 0. Beyond it, writes wait for compaction.
const StopWrites = 24

// VersionKey holds the version of the last group of commits, 8 bytes big-endian. It is in the first batch of every
// group, so that the log cannot hold a commit without it. It is a private key of the engine, see keys.EndOfKeys.
var VersionKey = []byte("\xff\x00version")

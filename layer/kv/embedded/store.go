package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// Keys from 0xff on are ours: no transaction can reach them, but for kv.MetadataVersionKey.
var (
	endOfKeys = []byte{0xff}

	// versionKey holds the version of the last group of commits, 8 bytes big-endian. It is in the first batch of every group, so that the log
	// cannot hold a commit without it.
	versionKey = []byte("\xff\x00version")
	// formatKey holds the format of the store, one byte.
	formatKey = []byte("\xff\x00format")
	// horizonKey is in every store that has had a horizon, one byte.
	horizonKey = []byte("\xff\x00horizon")
)

// storeFormat is the meaning of the bytes in the store.
//
//	1: a user's key and value are Pebble's key and value, as they are. versionKey and formatKey beside them.
const storeFormat = 1

// pebbleFormat is the format of Pebble's files.
const pebbleFormat = pebble.FormatValueSeparation

// stopWrites is how many tables lie above each other in level 0, at most. Writes wait for compaction then.
const stopWrites = 24

// syncInLog and syncLater are Pebble's write options under the names of what they mean here.
var (
	syncInLog = pebble.Sync
	syncLater = pebble.NoSync
)

func openStore(dir string, o Options, e *Engine) (*pebble.DB, error) {
	lock, err := lockStore(dir, o)
	if err != nil {
		return nil, err
	}
	e.lock = lock
	dir = lock.path
	e.dir = dir
	e.horizon.fs, e.horizon.dir = o.fs, dir
	e.guard.dir, e.guard.horizon, e.guard.lock = dir, &e.horizon, lock
	e.space = newSpace(dir, o)
	e.space.busy, e.space.pending = e.commits.busy.elapsed, e.reclaimer.pending
	e.guard.space = e.space
	e.running.Go(func() { e.space.run(e.stop) })
	po := &pebble.Options{
		FS:                          guardFS{tableFS{o.fs, &e.damage}, &e.guard},
		Logger:                      pebbleLog{log: o.Logger, fail: e.fail},
		Lock:                        lock.file,
		FormatMajorVersion:          pebbleFormat,
		CacheSize:                   o.CacheBytes - o.CacheBytes/4, // see rows
		MemTableSize:                uint64(e.space.memTable(o.MemTableBytes)),
		MemTableStopWritesThreshold: 3,
		MaxOpenFiles:                500,
		MaxManifestFileSize:         4 << 20, // horizon reads it when the store is opened
		// One compaction at a time until it falls behind: small machines have other work.
		CompactionConcurrencyRange: func() (int, int) {
			waiting := int(e.damage.waiting.Load())
			if e.space.refusing.Load() { // each needs room of its own
				return 1 + waiting, 1 + waiting
			}
			return 1 + waiting, 2 + waiting
		},
		// Compaction of the flushed tables begins at four of them above each other (half of this), not at two: each rewrites what it meets further down, which is
		// half of the CPU of bulk work such as an index's first build. Reads find the two more through their filters.
		L0CompactionThreshold: 8,
		// On a full disk compactions may have to wait, and what makes room must not.
		L0StopWritesThreshold: stopWrites,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { e.backgroundError(err) },
			ManifestCreated: func(info pebble.ManifestCreateInfo) {
				if info.Err == nil {
					e.horizon.installed(o.fs.PathBase(info.Path))
				}
			},
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
				o.Logger.Warn("writes wait for compaction", "reason", info.Reason)
				e.damage.full.Store(strings.HasPrefix(info.Reason, "L0"))
				e.refuseStalled()
			},
		},
	}
	e.space.fit(po)
	e.damage.listen(po.EventListener)
	e.space.listen(po.EventListener)
	e.compactions.held = &e.damage.waiting
	po.Experimental.CompactionScheduler = &e.compactions
	tellCompactions(po)
	setTables(po, o.Compression)
	if err := e.horizon.read(); err != nil {
		return nil, err
	}
	if err := e.horizon.verify(); err != nil {
		return nil, err
	}
	if _, err := e.manifestMended(); err != nil {
		return nil, err
	}
	db, err := e.openOrStandBy(dir, po)
	if err != nil {
		if ofFiles(err) {
			return nil, damaged(dir, err)
		}
		return nil, fmt.Errorf("embedded: open the store in %s: %w", dir, err)
	}
	err = checkFormat(db)
	if err == nil && e.standby == nil {
		err = needHorizon(db)
		if err := e.horizon.removeOldMirrors(); err != nil {
			o.Logger.Warn("old copies of the list of tables are not removed", "error", err)
		}
	}
	if err != nil {
		if kv.IsCode(err, kv.CodeFileCorrupt) {
			err = damaged(dir, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ofFiles reports whether an error of opening Pebble is about what is in the files, and not about the system, which has a number for what it refuses.
func ofFiles(err error) bool {
	var number syscall.Errno
	var stopped *kv.Error
	if errors.As(err, &stopped) {
		return false
	}
	return pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) || !errors.As(err, &number) // the directory is there, so it is a file of it that is not
}

// openPebble opens the store on a goroutine of its own, which Pebble can keep where it has no way on, see pebbleLog.Fatalf.
func (e *Engine) openPebble(dir string, po *pebble.Options) (db *pebble.DB, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		db, err = pebble.Open(dir, po)
	}()
	select {
	case <-done:
		return db, err
	case <-e.failing:
	}
	return nil, e.Failed()
}

func checkFormat(db *pebble.DB) error {
	v, err := readCopy(db, formatKey)
	switch {
	case err != nil:
		return fmt.Errorf("embedded: read the store's format: %w", err)
	case v == nil:
		if err := db.Set(formatKey, []byte{storeFormat}, syncInLog); err != nil {
			return fmt.Errorf("embedded: write the store's format: %w", err)
		}
	case len(v) != 1 || v[0] != storeFormat:
		return fmt.Errorf("embedded: the store has format %x, this program knows %x", v, storeFormat)
	}
	return nil
}

func lastVersion(db *pebble.DB) (int64, error) {
	v, err := readCopy(db, versionKey)
	if err != nil {
		return 0, fmt.Errorf("embedded: read the last version: %w", err)
	}
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("embedded: the last version has %d bytes, want 8", len(v))
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

// getter is what a database, a snapshot and a batch have in common.
type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
}

// readCopy is the value of key in new memory, nil where there is none.
func readCopy(g getter, key []byte) ([]byte, error) {
	v, closer, err := g.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	c := make([]byte, len(v))
	copy(c, v)
	return c, closer.Close()
}

// readError is an error of the disk while reading. It is final for the transaction, not for the store.
func readError(err error) error {
	if isDamage(err) {
		return errDamaged(err)
	}
	if isDenied(err) {
		return kv.NewError(kv.CodeIOError, "a file of the store may not be read by this process", err)
	}
	return kv.NewError(kv.CodeIOError, "the disk failed while reading", err)
}

// backgroundError is what a flush or compaction failed with. Pebble tries again: as soon as there may be room again on a full disk (see guardFS), else at
// once and for ever; a failing disk must not be hidden for so long.
func (e *Engine) backgroundError(err error) {
	if isUnwritable(err) {
		return // it is known, see space
	}
	if pebble.ExtractDataCorruptionInfo(err) != nil {
		e.compactions.pause()
		return
	}
	if errors.Is(err, syscall.EIO) {
		e.fail(err)
		return
	}
	e.log.Warn("work in the background of the store failed and is tried again", "error", err)
}

// pebbleLog gives Pebble's log to slog: its news at debug level, its errors as errors.
type pebbleLog struct {
	log  *slog.Logger
	fail func(error)
}

func (l pebbleLog) Infof(format string, args ...any) {
	l.log.Debug("pebble", "event", lazy{format, args})
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.log.Error("pebble", "event", lazy{format, args})
}

// Fatalf must not return: Pebble expects the process to end. It stops the engine instead and keeps the goroutine that it is on for ever, as guard
// does, whether that is Pebble's or ours: who waits for the sequencer, for Open or for Close also waits for the engine to fail.
func (l pebbleLog) Fatalf(format string, args ...any) {
	cause := fmt.Errorf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok {
			cause = fmt.Errorf("pebble: %w", err)
			break
		}
	}
	l.fail(cause)
	select {}
}

// lazy formats only what is logged.
type lazy struct {
	format string
	args   []any
}

func (l lazy) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf(l.format, l.args...)) }

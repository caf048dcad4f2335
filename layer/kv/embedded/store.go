package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/compact"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/guard"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/storelock"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// Keys from 0xff on are private, see keys.EndOfKeys.
var (
	// formatKey holds the format of the store, one byte.
	formatKey = []byte("\xff\x00format")
	// horizonKey is in every store that has had a horizon, one byte.
	horizonKey = []byte("\xff\x00horizon")
)

// storeFormat is the format of the data in the store.
//
//	1: users' keys and values are Pebble's, unchanged, beside store.VersionKey and formatKey.
const storeFormat = 1

func openStore(dir string, o Options, e *Engine) (*pebble.DB, error) {
	lock, err := storelock.Take(dir, o.fs, o.lockFileOnly)
	if err != nil {
		return nil, err
	}
	e.lock = lock
	dir = lock.Path
	e.store.Dir = dir
	e.horizon = horizon.New(o.fs, dir)
	e.connect(room.New(dir, o.fs, o.Logger, o.BallastBytes))
	e.store.Running.Go(func() { e.space.Run(e.store.Stop) })
	po := &pebble.Options{
		FS:                          guard.NewFS(damage.NewFS(o.fs, &e.damage), &e.guard),
		Logger:                      store.PebbleLog{Log: o.Logger, Fail: e.store.Fail},
		Lock:                        lock.File,
		FormatMajorVersion:          store.PebbleFormat,
		CacheSize:                   o.CacheBytes - o.CacheBytes/4, // the rest is for rowcache
		MemTableSize:                uint64(e.space.MemTable(o.MemTableBytes)),
		MemTableStopWritesThreshold: 3,
		MaxOpenFiles:                500,
		MaxManifestFileSize:         4 << 20, // the horizon check reads the manifest when the store is opened
		// One compaction at a time unless compaction falls behind: small machines have other work.
		CompactionConcurrencyRange: func() (int, int) {
			waiting := int(e.damage.Waiting.Load())
			if e.space.Refusing.Load() { // each compaction needs disk space
				return 1 + waiting, 1 + waiting
			}
			return 1 + waiting, 2 + waiting
		},
		// Compaction of level 0 begins at four overlapping tables (half of this number), not at two: each compaction
		// rewrites the data below, which is half of the CPU time of bulk work such as an index's first build. Filters
		// make reads of the two additional tables cheap.
		L0CompactionThreshold: 8,
		// On a full disk compactions may have to wait, and transactions that make room must not wait for them.
		L0StopWritesThreshold: store.StopWrites,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { e.backgroundError(err) },
			ManifestCreated: func(info pebble.ManifestCreateInfo) {
				if info.Err == nil {
					e.horizon.Installed(o.fs.PathBase(info.Path))
				}
			},
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
				o.Logger.Warn("writes wait for compaction", "reason", info.Reason)
				e.damage.Full.Store(strings.HasPrefix(info.Reason, "L0"))
				e.inspector.RefuseStalled()
			},
		},
	}
	e.space.Fit(po)
	e.damage.Listen(po.EventListener)
	e.space.Listen(po.EventListener)
	e.compactions.Held = &e.damage.Waiting
	po.Experimental.CompactionScheduler = &e.compactions
	damage.TellCompactions(po)
	setTables(po, o.Compression)
	if err := e.horizon.Read(); err != nil {
		return nil, err
	}
	if err := e.horizon.Verify(hasHorizonKey); err != nil {
		return nil, err
	}
	if _, err := e.guard.ManifestMended(); err != nil {
		return nil, err
	}
	db, err := e.openOrStandBy(dir, po)
	if err != nil {
		if ofFiles(err) {
			return nil, failure.Damaged(dir, err)
		}
		return nil, fmt.Errorf("embedded: open the store in %s: %w", dir, err)
	}
	err = checkFormat(db)
	if err == nil && e.standby == nil {
		err = needHorizon(db)
		if err := e.horizon.RemoveOldMirrors(); err != nil {
			o.Logger.Warn("cannot remove old copies of the list of tables", "error", err)
		}
	}
	if err != nil {
		if kv.IsCode(err, kv.CodeFileCorrupt) {
			err = failure.Damaged(dir, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ofFiles reports whether an error of opening Pebble is about the content of the files, and not a system error, which
// has an error number.
func ofFiles(err error) bool {
	var number syscall.Errno
	var stopped *kv.Error
	if errors.As(err, &stopped) {
		return false
	}
	// The directory exists, so a file in it is missing.
	return pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) || !errors.As(err, &number)
}

func checkFormat(db *pebble.DB) error {
	v, err := store.Value(db, formatKey)
	switch {
	case err != nil:
		return fmt.Errorf("embedded: read the store's format: %w", err)
	case v == nil:
		if err := db.Set(formatKey, []byte{storeFormat}, store.SyncInLog); err != nil {
			return fmt.Errorf("embedded: write the store's format: %w", err)
		}
	case len(v) != 1 || v[0] != storeFormat:
		return fmt.Errorf("embedded: the store has format %x, this program knows %x", v, storeFormat)
	}
	return nil
}

func lastVersion(db *pebble.DB) (int64, error) {
	v, err := store.Value(db, store.VersionKey)
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

// backgroundError handles the error of a flush or compaction. Pebble tries again: after a full disk as soon as there
// may be space (see package guard), otherwise at once and for ever; a failing disk must not be hidden for that long.
func (e *Engine) backgroundError(err error) {
	if failure.IsUnwritable(err) {
		return // handled by package room
	}
	if pebble.ExtractDataCorruptionInfo(err) != nil {
		e.compactions.Pause(compact.PauseAfter)
		return
	}
	if errors.Is(err, syscall.EIO) {
		e.store.Fail(err)
		return
	}
	e.store.Log.Warn("background work of the store failed; trying again", "error", err)
}

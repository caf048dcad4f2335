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
)

// Keys from 0xff on are ours, see endOfKeys.
var (
	// formatKey holds the format of the store, one byte.
	formatKey = []byte("\xff\x00format")
	// horizonKey is in every store that has had a horizon, one byte.
	horizonKey = []byte("\xff\x00horizon")
)

// storeFormat is the meaning of the bytes in the store.
//
//	1: a user's key and value are Pebble's key and value, as they are. versionKey and formatKey beside them.
const storeFormat = 1

func openStore(dir string, o Options, e *Engine) (*pebble.DB, error) {
	lock, err := lockStore(dir, o.fs, o.lockFileOnly)
	if err != nil {
		return nil, err
	}
	e.lock = lock
	dir = lock.path
	e.store.dir = dir
	e.horizon = newHorizon(o.fs, dir)
	e.know(newSpace(dir, o.fs, o.Logger, o.BallastBytes))
	e.store.running.Go(func() { e.space.run(e.store.stop) })
	po := &pebble.Options{
		FS:                          newGuardFS(newTableFS(o.fs, &e.damage), &e.guard),
		Logger:                      pebbleLog{log: o.Logger, fail: e.store.fail},
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
				e.inspector.refuseStalled()
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
	if err := e.horizon.verify(hasHorizonKey); err != nil {
		return nil, err
	}
	if _, err := e.guard.manifestMended(); err != nil {
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

// backgroundError is what a flush or compaction failed with. Pebble tries again: as soon as there may be room again on a full disk (see guardFS), else at
// once and for ever; a failing disk must not be hidden for so long.
func (e *Engine) backgroundError(err error) {
	if isUnwritable(err) {
		return // it is known, see space
	}
	if pebble.ExtractDataCorruptionInfo(err) != nil {
		e.compactions.pause(pauseAfter)
		return
	}
	if errors.Is(err, syscall.EIO) {
		e.store.fail(err)
		return
	}
	e.store.log.Warn("work in the background of the store failed and is tried again", "error", err)
}

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/salvage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/storelock"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// OpenReadOnly opens a store for reading and changes nothing in its directory, which may be on a read-only file
// system or belong to somebody else. No process may have the store open for writing; several may read it, and no
// engine can open it for writing until all of them are closed. Rows that are only in the log are held in memory.
// Every commit of a write fails.
//
// Damage that makes Open fail also makes OpenReadOnly fail, unless salvaging is set. Then it opens as much as
// possible and logs what is left out. That is for saving the readable data, which may be older than what was
// acknowledged.
func OpenReadOnly(dir string, o Options, salvaging bool) (*Engine, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if err := readable(dir, o, salvaging); err != nil {
		return nil, err
	}
	lock := &storelock.ReadLock{}
	if vfs.Root(o.fs) == vfs.Default {
		if lock, err = storelock.TakeForReading(dir); err != nil {
			return nil, err
		}
	}
	e := newEngine(dir, o)
	e.reading = &readOnly{e: e, lock: lock, files: salvage.NewFS(damage.NewFS(o.fs, &e.damage), dir)}
	e.connect(room.New(dir, o.fs, o.Logger, o.BallastBytes))
	last, err := e.reading.open(salvaging)
	if err != nil {
		return nil, errors.Join(failure.ExplainDenied(err), lock.Close())
	}
	e.start(last)
	return e, nil
}

// readOnly is the state of an engine that is open for reading only.
type readOnly struct {
	e     *Engine
	lock  *storelock.ReadLock
	files *salvage.FS
	lacks []kv.Fault // what is missing, see salvage.Lacking
	// mirrored reports that the manifest is read from its mirror.
	mirrored bool
}

// readable returns why a store cannot be opened for reading, as far as its files show before it is opened.
func readable(dir string, o Options, salvaging bool) error {
	if vfs.Root(o.fs) != vfs.Default {
		return nil // a test's file system, which has no other users
	}
	found, err := Inspect(dir)
	switch {
	case found.Holder > 0:
		return fmt.Errorf("embedded: the store in %s is in use by another process (%d)", dir, found.Holder)
	case err != nil && (!salvaging || failure.IsDenied(err)):
		return failure.ExplainDenied(err)
	case err != nil:
		o.Logger.Warn("the store is damaged; reading as much of it as possible", "error", err)
	case !found.Exists:
		return fmt.Errorf("embedded: there is no store in %s: %w", dir, fs.ErrNotExist)
	}
	return nil
}

// open opens Pebble. If salvaging is set, it does without missing or damaged files as far as possible.
func (r *readOnly) open(salvaging bool) (last int64, err error) {
	e := r.e
	h := horizon.New(e.store.FS, e.store.Dir)
	if err := h.Read(); err == nil || salvaging && !failure.IsDenied(err) { // other errors were reported already
		if r.mirrored, err = r.files.ReadMirrored(h, salvaging); err != nil {
			return 0, failure.ExplainDenied(err)
		}
	}
	if r.mirrored {
		e.store.Log.Warn("the list of the store's tables is damaged; reading its second copy")
	}
	if salvaging {
		if err := r.findGaps(); err != nil {
			return 0, err
		}
	}
	db, err := e.store.OpenPebble(e.store.Dir, readOnlyOptions(e.o, &e.store, &e.damage, r.files))
	if err != nil {
		if failure.IsDenied(err) || !ofFiles(err) {
			return 0, fmt.Errorf("embedded: open the store in %s for reading: %w", e.store.Dir, err)
		}
		if salvaging {
			return 0, fmt.Errorf("embedded: nothing of the store in %s can be read: %w; restore a backup, or bring "+
				"back the missing files",
				e.store.Dir, failure.Brief(err))
		}
		return 0, failure.Damaged(e.store.Dir, err)
	}
	e.store.DB.Store(db)
	if err := r.leaveOut(salvaging); err != nil {
		return 0, err
	}
	db = e.store.DB.Load()
	format, err := store.Value(db, formatKey)
	if err == nil && format != nil && (len(format) != 1 || format[0] != storeFormat) { // none: it is still empty
		err = fmt.Errorf("embedded: the store has format %x, this program knows %x", format, storeFormat)
	}
	if err == nil {
		last, err = lastVersion(db)
	}
	if kv.IsCode(err, kv.CodeFileCorrupt) && salvaging {
		e.store.Log.Warn("the store's private keys are damaged; reading without them", "error", err)
		err = nil
	}
	if err != nil {
		err = errors.Join(err, db.Close())
	}
	return last, err
}

// findGaps finds out what the store lacks, and gives Pebble substitutes without which it would not open the store.
func (r *readOnly) findGaps() (err error) {
	e := r.e
	r.files.Salvage = true
	var m horizon.Mark
	if r.lacks, m, err = salvage.Lacking(e.store.FS, e.store.Dir); err != nil {
		return err
	}
	if r.mirrored {
		r.lacks = slices.DeleteFunc(r.lacks, func(f kv.Fault) bool { return horizon.IsManifest(f.File) })
	}
	for _, f := range r.lacks {
		e.store.Log.Warn("the store lacks data; rows may be outdated", "file", f.File,
			"what", f.What)
	}
	names, err := e.store.FS.List(e.store.Dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	r.files.More = append(salvage.LostMarkers(names, m), salvage.LostTables(names)...)
	return r.files.MendLogs(e.store.Log)
}

// leaveOut opens Pebble once more without the tables in which nothing can be found, if there are any and salvaging is
// set.
func (r *readOnly) leaveOut(salvaging bool) error {
	if !salvaging {
		return nil
	}
	e := r.e
	lost, err := e.inspector.FillGaps()
	if err == nil && len(lost) > 0 {
		var empty vfs.FS
		if empty, err = sst.EmptyTables(lost); err == nil {
			for _, t := range lost {
				r.files.Put(t.Name, empty)
			}
		}
	}
	if err != nil {
		return errors.Join(err, e.store.DB.Load().Close())
	}
	e.inspector.LeftOut = map[string]bool{}
	if len(lost) == 0 {
		return nil
	}
	for _, t := range lost {
		e.inspector.LeftOut[t.Name] = true
		e.store.Log.Warn("a table of the store cannot be read and is left out; rows may be outdated",
			"table", t.Name, "bytes", t.Size)
	}
	if err := e.store.DB.Load().Close(); err != nil {
		return err
	}
	db, err := e.store.OpenPebble(e.store.Dir, readOnlyOptions(e.o, &e.store, &e.damage, r.files))
	if err != nil {
		return err
	}
	e.store.DB.Store(db)
	return nil
}

// readOnlyOptions returns Pebble's options for a read-only store.
func readOnlyOptions(o Options, s *store.Store, d *damage.Damage, files *salvage.FS) *pebble.Options {
	po := &pebble.Options{
		FS: files, ReadOnly: true, Logger: store.PebbleLog{Log: o.Logger, Fail: s.Fail},
		FormatMajorVersion: store.PebbleFormat,
		CacheSize:          o.CacheBytes - o.CacheBytes/4, MemTableSize: uint64(o.MemTableBytes), MaxOpenFiles: 500,
		EventListener:           &pebble.EventListener{BackgroundError: func(error) {}},
		DisableConsistencyCheck: files.Salvage, // tables may be missing or cut, see damage.Inspector.FillGaps
	}
	d.Listen(po.EventListener)
	damage.TellCompactions(po)
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

package guard

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/storelock"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// guardFS stands between Pebble and the disk. For the files that a store cannot do without, logs, manifests and
// markers, it does two things.
//
// It tells the horizon what of them is synced, and before they go.
//
// And where Pebble meets an error of theirs it ends the process, from the middle of its locks, so that nothing can be
// answered or closed any more. guardFS never lets it see one. Where the disk is full or may not be written, the
// goroutine that met it waits and tries again until it can: what it does is done late. Any other error is reported, and
// the goroutine that met it is kept for ever. The engine is failed then, answers everyone without Pebble, and the
// process is expected to end soon.
//
// Errors of tables pass: Pebble reports those in the background, and begins the table anew. After a full disk it is
// held up before that.
//
// Files in other directories, those of a checkpoint, are none of its business.
type guardFS struct {
	vfs.FS
	g *Guard
}

// NewFS is fs for Pebble.
func NewFS(fs vfs.FS, g *Guard) vfs.FS { return guardFS{fs, g} }

// Guard guards the files that a store cannot do without, see package guard.
type Guard struct {
	// Patient is set where a full disk is waited for: once there is a store. One that is being made is given up.
	Patient atomic.Bool
	Ended   atomic.Bool // the engine is closed: what waits is not tried again
	// Armed is set once the store is open; before, Open returns the error.
	Armed   atomic.Bool
	Store   *store.Store
	Horizon *horizon.Horizon
	Lock    *storelock.Lock
	Space   *room.Space
	Kept    kept
	reuse   sync.Mutex // held while an old log is given a new name, and while one is emptied
}

// check reports an error and does not return, or returns nil. The goroutine cannot be ended either: Pebble unlocks with
// defer what it does not hold at this point (its log writer, for one), which ends the process as a fault of the
// runtime, or makes public what is half done.
func (g *Guard) check(err error) error {
	if err != nil && g.Armed.Load() {
		g.Store.Fail(err)
		select {}
	}
	return err
}

// Acknowledge is called with a version that is synced, and before anyone is told of it. After an error nobody may be.
func (g *Guard) Acknowledge(version int64) error {
	if err := g.Lock.Lost(); err != nil {
		return err
	}
	return g.Try(false, func() error { return g.Horizon.Acknowledge(version) })
}

// Try does something that changes the disk, again and again for as long as the disk is full or may not be written.
func (g *Guard) Try(table bool, op func() error) error {
	err := op()
	if err == nil || !failure.IsUnwritable(err) || !g.Patient.Load() {
		return err
	}
	w := g.Space.Queue(table)
	defer w.Done()
	for err != nil && failure.IsUnwritable(err) {
		w.Pause(err)
		if g.Ended.Load() {
			select {}
		}
		g.Space.Retrying.RLock()
		err = op()
		g.Space.Retrying.RUnlock()
	}
	return err
}

// isTable reports whether a file is one that Pebble can do without, for a while, when it is written.
func isTable(base string) bool {
	return strings.HasSuffix(base, ".sst") || strings.HasSuffix(base, ".blob")
}

// here reports whether a file is in the store, with an error if the store's directory is no longer at its path: what is
// there now is not ours.
func (fs guardFS) here(name string) (bool, error) {
	if fs.PathDir(name) != fs.g.Store.Dir {
		return false, nil
	}
	err := fs.g.Lock.Lost()
	if err != nil {
		fs.g.Store.Fail(err)
	}
	return true, err
}

// vital reports whether a file of the store is one that it cannot do without.
func (fs guardFS) vital(name string) bool {
	base := fs.PathBase(name)
	// Pebble writes its options to a .dbtmp file while it opens.
	return horizon.IsLog(base) || horizon.IsManifest(base) || strings.HasPrefix(base, "marker.") ||
		strings.HasSuffix(base, ".dbtmp")
}

func (fs guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.create(name, category == flushCategory, func() (vfs.File, error) { return fs.FS.Create(name, category) })
}

func (fs guardFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.create(newname, false, func() (vfs.File, error) {
		fs.g.reuse.Lock()
		defer fs.g.reuse.Unlock()
		if err := fs.g.Horizon.Forget(fs.PathBase(oldname)); err != nil {
			return nil, err
		}
		return fs.FS.ReuseForWrite(oldname, newname, category)
	})
}

// flushCategory is Pebble's for the tables of flushes. Those of compactions have others.
const flushCategory vfs.DiskWriteCategory = "pebble-memtable-flush"

func (fs guardFS) create(name string, flush bool, create func() (vfs.File, error)) (f vfs.File, err error) {
	here, err := fs.here(name)
	if err == nil && !here {
		return create()
	}
	table := isTable(fs.PathBase(name))
	if err == nil && table {
		err = fs.g.Space.BeginTable(flush)
	}
	if err == nil {
		err = fs.g.Try(table, func() (err error) {
			f, err = create()
			return err
		})
	}
	if err == nil && horizon.IsManifest(fs.PathBase(name)) {
		// Pebble makes a log's name last, but a manifest's only when it is all written
		err = fs.g.Try(false, func() error { return horizon.SyncDir(fs.FS, fs.g.Store.Dir) })
	}
	switch {
	case fs.vital(name):
		return fs.wrap(name, f, err)
	case err != nil:
		return nil, err
	}
	return &newTable{File: f, g: fs.g, flush: flush}, nil
}

// wrap returns the file with guards around it.
func (fs guardFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err := fs.g.check(err); err != nil {
		return nil, err
	}
	f = &guardFile{File: f, g: fs.g}
	if base := fs.PathBase(name); horizon.IsLog(base) || horizon.IsManifest(base) {
		marked := &markedFile{File: f, g: fs.g, written: horizon.Prefix{Name: base}}
		if horizon.IsManifest(base) {
			marked.mirror = horizon.NewMirror(fs.FS, fs.g.Store.Dir, base, fs.g.Store.Log)
		}
		f = marked
	}
	return f, nil
}

func (fs guardFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if _, err := fs.here(name); err != nil {
		return nil, err
	}
	return fs.FS.Open(name, opts...)
}

func (fs guardFS) Rename(oldname, newname string) error {
	if _, err := fs.here(newname); err != nil {
		return err
	}
	return fs.g.Try(false, func() error { return fs.FS.Rename(oldname, newname) })
}

// Remove puts off the removal of a table that the standby reads.
func (fs guardFS) Remove(name string) error {
	here, err := fs.here(name)
	if err != nil {
		return err
	}
	if !here {
		return fs.FS.Remove(name)
	}
	if fs.g.Kept.putOff(name) {
		return nil
	}
	if err := fs.g.check(fs.g.Try(false, func() error { return fs.g.Horizon.Forget(fs.PathBase(name)) })); err != nil {
		return err
	}
	defer fs.g.Space.Changed()
	if base := fs.PathBase(name); horizon.IsManifest(base) {
		_ = fs.FS.Remove(fs.PathJoin(fs.g.Store.Dir, horizon.MirrorPrefix+base)) // or when the store is opened
	}
	return fs.g.Try(true, func() error { return fs.FS.Remove(name) })
}

func (fs guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil || name != fs.g.Store.Dir {
		return f, err
	}
	return guardDir{f, fs.g}, nil
}

// Lock waits until the file can be locked. The directory has been locked.
func (fs guardFS) Lock(name string) (c io.Closer, err error) {
	err = fs.g.Try(false, func() (err error) {
		c, err = fs.FS.Lock(name)
		return err
	})
	return c, err
}

func (fs guardFS) Unwrap() vfs.FS { return fs.FS }

// guardDir is the store's directory: what syncs it makes a vital file's name last. Pebble syncs it from several
// goroutines.
type guardDir struct {
	vfs.File
	g *Guard
}

func (f guardDir) Sync() error     { return f.g.check(f.g.Try(false, f.File.Sync)) }
func (f guardDir) SyncData() error { return f.g.check(f.g.Try(false, f.File.SyncData)) }
func (f guardDir) Close() error    { return f.g.check(f.File.Close()) }

// guardFile is a vital file. Pebble writes it from one goroutine, from its start on.
type guardFile struct {
	vfs.File
	g *Guard

	synced int64  // bytes that are on disk
	tail   []byte // what was written since
}

// maxTail is up to how much memory is kept for the next tail.
const maxTail = 1 << 20

func (f *guardFile) Write(b []byte) (n int, err error) {
	f.tail = append(f.tail, b...)
	err = f.g.Try(false, func() error {
		m, err := f.File.Write(b[n:])
		n += m
		return err
	})
	f.g.Space.Wrote(n)
	return n, f.g.check(err)
}

// Preallocate makes nothing but speed.
func (f *guardFile) Preallocate(offset, length int64) error {
	_ = f.File.Preallocate(offset, length)
	return nil
}

func (f *guardFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *guardFile) SyncData() error { return f.sync(f.File.SyncData) }

// sync writes what was not on disk once more after a sync that found no room: the system throws away what it could not
// write, and the next sync would succeed without it.
func (f *guardFile) sync(sync func() error) error {
	failed := false
	err := f.g.Try(false, func() error {
		if failed && len(f.tail) > 0 {
			if _, err := f.File.WriteAt(f.tail, f.synced); err != nil {
				return err
			}
		}
		err := sync()
		failed = err != nil
		return err
	})
	if err == nil {
		f.synced += int64(len(f.tail))
		if f.tail = f.tail[:0]; cap(f.tail) > maxTail {
			f.tail = nil
		}
	}
	return f.g.check(err)
}

func (f *guardFile) Close() error { return f.g.check(f.File.Close()) }

// SyncTo only begins to write, or syncs all.
func (f *guardFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	if err != nil && failure.IsUnwritable(err) {
		return true, f.Sync()
	}
	return full, f.g.check(err)
}

// markedFile tells the horizon what of a log or manifest is synced. Pebble writes and syncs one from one goroutine at a
// time.
type markedFile struct {
	vfs.File // a guardFile
	g        *Guard
	written  horizon.Prefix
	mirror   *horizon.Mirror // nil for a log
}

func (f *markedFile) Write(b []byte) (int, error) {
	f.written.Grow(b) // first: Pebble's file systems may use b up
	f.mirror.Write(b)
	return f.File.Write(b) // after an error nothing is synced any more, see guard
}

func (f *markedFile) Sync() error {
	f.mirror.Sync()
	return f.synced(f.File.Sync())
}

func (f *markedFile) SyncData() error {
	f.mirror.Sync()
	return f.synced(f.File.SyncData())
}

func (f *markedFile) Close() error {
	f.mirror.Close()
	return f.File.Close()
}

func (f *markedFile) synced(err error) error {
	if err != nil {
		return err
	}
	return f.g.check(f.g.Try(false, func() error { return f.g.Horizon.Grown(f.written) }))
}

// newTable is another file of the store, most often a table.
type newTable struct {
	vfs.File
	g      *Guard
	flush  bool // not a compaction
	failed bool
}

func (f *newTable) note(err error) error {
	if err != nil && failure.IsUnwritable(err) {
		f.failed = true
		f.g.Space.TableFailed(f.flush, err)
	}
	return err
}

func (f *newTable) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.g.Space.Wrote(n)
	return n, f.note(err)
}

func (f *newTable) Sync() error     { return f.note(f.File.Sync()) }
func (f *newTable) SyncData() error { return f.note(f.File.SyncData()) }

func (f *newTable) Preallocate(offset, length int64) error {
	_ = f.File.Preallocate(offset, length)
	return nil
}

func (f *newTable) Close() error {
	err := f.note(f.File.Close())
	if err == nil && !f.failed && f.flush {
		f.g.Space.TableWritten(true)
	}
	return err
}

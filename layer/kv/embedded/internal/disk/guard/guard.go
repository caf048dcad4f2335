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

// guardFS is a vfs.FS between Pebble and the disk. For the files that a store cannot do without (logs, manifests and
// markers), it does two things.
//
// It reports to the horizon what of them is synced, and when they are about to be removed.
//
// And it hides their errors from Pebble, which would end the process while holding its locks, so that nothing could
// be answered or closed any more. If the disk is full or not writable, the goroutine that met the error waits and
// retries until it succeeds. Any other error fails the engine, and the goroutine is blocked for ever. The failed
// engine answers all calls without Pebble, and the process is expected to end soon.
//
// Errors of tables pass through: Pebble reports those in the background and retries the table. After a full disk, the
// retry is delayed.
//
// Files in other directories, such as a checkpoint's, are not guarded.
type guardFS struct {
	vfs.FS
	g *Guard
}

// NewFS wraps fs for Pebble.
func NewFS(fs vfs.FS, g *Guard) vfs.FS { return guardFS{fs, g} }

// Guard guards the files that a store cannot do without; see the package comment.
type Guard struct {
	// Patient makes operations wait while the disk is full. It is set once the store exists; creating a store fails
	// instead.
	Patient atomic.Bool
	Ended   atomic.Bool // the engine is closed: waiting operations are not retried
	// Armed is set once the store is open; before that, Open returns the error.
	Armed   atomic.Bool
	Store   *store.Store
	Horizon *horizon.Horizon
	Lock    *storelock.Lock
	Space   *room.Space
	Kept    kept
	reuse   sync.Mutex // held while an old log is renamed, and while one is emptied
}

// check returns if err is nil; otherwise it fails the store and does not return. The goroutine cannot be ended
// either: Pebble's deferred calls would unlock what is not locked at this point (in its log writer, for one), which
// crashes the process, or would publish incomplete state.
func (g *Guard) check(err error) error {
	if err != nil && g.Armed.Load() {
		g.Store.Fail(err)
		select {}
	}
	return err
}

// Acknowledge records a version that is synced, before anyone is told of it. After an error it must not be
// acknowledged.
func (g *Guard) Acknowledge(version int64) error {
	if err := g.Lock.Lost(); err != nil {
		return err
	}
	return g.Try(false, func() error { return g.Horizon.Acknowledge(version) })
}

// Try runs an operation that changes the disk, and retries it while the disk is full or not writable.
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

// isTable reports whether Pebble can survive an error when it writes the file.
func isTable(base string) bool {
	return strings.HasSuffix(base, ".sst") || strings.HasSuffix(base, ".blob")
}

// here reports whether a file is in the store. It returns an error if the store's directory is no longer at its path:
// files there now are not ours.
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

// vital reports whether the store cannot do without the file.
func (fs guardFS) vital(name string) bool {
	base := fs.PathBase(name)
	// Pebble writes its options to a .dbtmp file while it opens the store.
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

// flushCategory is Pebble's category for the tables of flushes. Those of compactions have others.
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
		// Pebble syncs the directory for a new log, but for a manifest only when it is complete.
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

// Remove delays the removal of a table that the standby reads.
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
		// or removed when the store is opened
		_ = fs.FS.Remove(fs.PathJoin(fs.g.Store.Dir, horizon.MirrorPrefix+base))
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

// Lock waits until the file can be locked. The directory is locked already.
func (fs guardFS) Lock(name string) (c io.Closer, err error) {
	err = fs.g.Try(false, func() (err error) {
		c, err = fs.FS.Lock(name)
		return err
	})
	return c, err
}

func (fs guardFS) Unwrap() vfs.FS { return fs.FS }

// guardDir is the store's directory. Syncing it makes the name of a vital file durable. Pebble syncs it from several
// goroutines.
type guardDir struct {
	vfs.File
	g *Guard
}

func (f guardDir) Sync() error     { return f.g.check(f.g.Try(false, f.File.Sync)) }
func (f guardDir) SyncData() error { return f.g.check(f.g.Try(false, f.File.SyncData)) }
func (f guardDir) Close() error    { return f.g.check(f.File.Close()) }

// guardFile is a vital file. One goroutine of Pebble writes it, from start to end.
type guardFile struct {
	vfs.File
	g *Guard

	synced int64  // bytes that are on disk
	tail   []byte // written since the last sync
}

// maxTail is the largest buffer that is kept for the next tail.
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

// Preallocate only improves speed.
func (f *guardFile) Preallocate(offset, length int64) error {
	_ = f.File.Preallocate(offset, length)
	return nil
}

func (f *guardFile) Sync() error     { return f.sync(f.File.Sync) }
func (f *guardFile) SyncData() error { return f.sync(f.File.SyncData) }

// sync rewrites the unsynced bytes after a sync that found no space: the system drops what it could not write, and
// the next sync would succeed without it.
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

// SyncTo syncs everything, except where it only starts writing.
func (f *guardFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	if err != nil && failure.IsUnwritable(err) {
		return true, f.Sync()
	}
	return full, f.g.check(err)
}

// markedFile reports to the horizon what of a log or manifest is synced. Pebble writes and syncs it from one
// goroutine at a time.
type markedFile struct {
	vfs.File // a guardFile
	g        *Guard
	written  horizon.Prefix
	mirror   *horizon.Mirror // nil for a log
}

func (f *markedFile) Write(b []byte) (int, error) {
	f.written.Grow(b) // first, because Pebble's file systems may modify b
	f.mirror.Write(b)
	return f.File.Write(b) // after an error nothing more is synced, see guardFS
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

// newTable is any other new file of the store, usually a table.
type newTable struct {
	vfs.File
	g      *Guard
	flush  bool // written by a flush, not a compaction
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

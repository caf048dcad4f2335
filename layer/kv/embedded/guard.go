package embedded

import (
	"hash/crc32"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS stands between Pebble and the disk. For the files that a store cannot do without, logs, manifests and markers, it does two things.
//
// It tells the horizon what of them is synced, and before they go.
//
// And where Pebble meets an error of theirs it ends the process, from the middle of its locks, so that nothing can be answered or closed any more.
// guardFS never lets it see one: it reports the error and keeps the goroutine that met it for ever. The engine is failed then, answers everyone without
// Pebble, and the process is expected to end soon. Errors of tables pass: Pebble reports those in the background.
//
// Files in other directories, those of a checkpoint, are none of its business.
type guardFS struct {
	vfs.FS
	g *guard
}

type guard struct {
	// armed is set once the store is open; before, Open returns the error.
	armed   atomic.Bool
	fail    func(error)
	dir     string
	horizon *horizon
	lock    *storeLock
}

// check reports an error and does not return, or returns nil. The goroutine cannot be ended either: Pebble unlocks with defer what it does not hold at
// this point (its log writer, for one), which ends the process as a fault of the runtime, or makes public what is half done.
func (g *guard) check(err error) error {
	if err != nil && g.armed.Load() {
		g.fail(err)
		select {}
	}
	return err
}

// here reports whether a file is in the store, with an error if the store's directory is no longer at its path: what is there now is not ours.
func (fs guardFS) here(name string) (bool, error) {
	if fs.PathDir(name) != fs.g.dir {
		return false, nil
	}
	err := fs.g.lock.lost()
	if err != nil {
		fs.g.fail(err)
	}
	return true, err
}

// vital reports whether a file of the store is one that it cannot do without.
func (fs guardFS) vital(name string) bool {
	base := fs.PathBase(name)
	return isLog(base) || isManifest(base) || strings.HasPrefix(base, "marker.")
}

func (fs guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	here, err := fs.here(name)
	var f vfs.File
	if err == nil {
		f, err = fs.FS.Create(name, category)
	}
	if !here || !fs.vital(name) {
		return f, err
	}
	if err == nil && isManifest(fs.PathBase(name)) {
		err = syncDir(fs.FS, fs.g.dir) // Pebble makes a log's name last, but a manifest's only when it is all written
	}
	return fs.wrap(name, f, err)
}

func (fs guardFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	_, err := fs.here(newname)
	if err == nil {
		err = fs.g.horizon.forget(fs.PathBase(oldname))
	}
	var f vfs.File
	if err == nil {
		f, err = fs.FS.ReuseForWrite(oldname, newname, category)
	}
	return fs.wrap(newname, f, err)
}

// wrap returns the file with guards around it.
func (fs guardFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err := fs.g.check(err); err != nil {
		return nil, err
	}
	f = guardFile{f, fs.g}
	if base := fs.PathBase(name); isLog(base) || isManifest(base) {
		f = &markedFile{File: f, g: fs.g, written: prefix{name: base}}
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
	return fs.FS.Rename(oldname, newname)
}

func (fs guardFS) Remove(name string) error {
	here, err := fs.here(name)
	if err != nil {
		return err
	}
	if here {
		if err := fs.g.check(fs.g.horizon.forget(fs.PathBase(name))); err != nil {
			return err
		}
	}
	return fs.FS.Remove(name)
}

func (fs guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil || name != fs.g.dir {
		return f, err
	}
	return guardFile{f, fs.g}, nil // what syncs a directory makes a vital file's name last
}

func (fs guardFS) Unwrap() vfs.FS { return fs.FS }

// guardFile is a vital file.
type guardFile struct {
	vfs.File
	g *guard
}

func (f guardFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.g.check(err)
}

func (f guardFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(b, off)
	return n, f.g.check(err)
}

func (f guardFile) Preallocate(offset, length int64) error {
	return f.g.check(f.File.Preallocate(offset, length))
}

func (f guardFile) Sync() error     { return f.g.check(f.File.Sync()) }
func (f guardFile) SyncData() error { return f.g.check(f.File.SyncData()) }
func (f guardFile) Close() error    { return f.g.check(f.File.Close()) }

func (f guardFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.g.check(err)
}

// markedFile tells the horizon what of a log or manifest is synced. Pebble writes and syncs one from one goroutine at a time.
type markedFile struct {
	vfs.File // a guardFile
	g        *guard
	written  prefix
}

func (f *markedFile) Write(b []byte) (int, error) {
	f.written.size += uint64(len(b))
	f.written.sum = crc32.Update(f.written.sum, castagnoli, b) // first: Pebble's file systems may use b up
	return f.File.Write(b)                                     // after an error nothing is synced any more, see guard
}

func (f *markedFile) Sync() error     { return f.synced(f.File.Sync()) }
func (f *markedFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f *markedFile) synced(err error) error {
	if err != nil {
		return err
	}
	return f.g.check(f.g.horizon.grown(f.written))
}

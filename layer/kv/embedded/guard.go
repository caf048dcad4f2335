package embedded

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guardFS stands between Pebble and the disk for the files that a store cannot do without: the log and the manifest. Where Pebble meets an error of
// theirs it ends the process, from the middle of its locks, so that nothing can be answered or closed any more. guardFS never lets it see one: it
// reports the error and keeps the goroutine that met it for ever. The engine is failed then, answers everyone without Pebble, and the process is
// expected to end soon.
//
// Errors of tables pass: Pebble reports those in the background.
type guardFS struct {
	vfs.FS
	g *guard
}

type guard struct {
	// armed is set once the store is open; before, Open returns the error.
	armed atomic.Bool
	fail  func(error)

	manifests manifests
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

// vital reports whether a file is one that guardFS is for.
func (fs guardFS) vital(name string) bool {
	base := fs.PathBase(name)
	return strings.HasSuffix(base, ".log") || isManifest(base) || strings.HasPrefix(base, "marker.")
}

func (fs guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, category)
	return fs.wrap(name, f, err)
}

func (fs guardFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return fs.wrap(newname, f, err)
}

func (fs guardFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if !fs.vital(name) {
		return f, err
	}
	if err := fs.g.check(err); err != nil {
		return nil, err
	}
	if base := fs.PathBase(name); isManifest(base) {
		f = &manifestFile{File: f, of: &fs.g.manifests, written: manifestMark{name: base}}
	}
	return guardFile{f, fs.g}, nil
}

func (fs guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
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

package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
)

var errReadOnly = kv.NewError(kv.CodeClientInvalid, "the store is open for reading only", nil)

// OpenReadOnly opens a store that no process has open, for reading, and changes nothing in its directory, which may be
// on a file system that is mounted read-only or belong to somebody else. What is only in the log is held in memory.
// Every commit of a write fails. Others may open it for reading too, but no engine for writing before this one is
// closed.
//
// Damage that keeps Open from opening the store is an error here too. With salvage it is not, as far as there is a way
// on: the log says what is left out. That is for saving what can be read; what is read may be older than what was
// acknowledged.
func OpenReadOnly(dir string, o Options, salvage bool) (*Engine, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if err := readable(dir, o, salvage); err != nil {
		return nil, err
	}
	reading := &readLock{}
	if vfs.Root(o.fs) == vfs.Default {
		if reading, err = lockForReading(dir); err != nil {
			return nil, err
		}
	}
	e := &Engine{
		dir: dir, o: o, log: o.Logger, rows: newRows(o.CacheBytes / 4), stop: make(chan struct{}),
		failing: make(chan struct{}),
		reading: reading,
	}
	e.space = newSpace(dir, o)
	e.damage.init()
	e.compactions.more = make(chan struct{}, 1)
	last, err := e.openReadOnly(salvage)
	if err != nil {
		return nil, errors.Join(explainDenied(err), reading.Close())
	}
	e.start(last)
	return e, nil
}

// readable is why a store cannot be opened for reading, as far as its files tell before it is opened.
func readable(dir string, o Options, salvage bool) error {
	if vfs.Root(o.fs) != vfs.Default {
		return nil // of a test's, which has no other users
	}
	found, err := Inspect(dir)
	switch {
	case found.Holder > 0:
		return fmt.Errorf("embedded: the store in %s is in use by another process (%d)", dir, found.Holder)
	case err != nil && (!salvage || isDenied(err)):
		return explainDenied(err)
	case err != nil:
		o.Logger.Warn("the store is damaged, and is read as far as that goes", "error", err)
	case !found.Exists:
		return fmt.Errorf("embedded: there is no store in %s: %w", dir, fs.ErrNotExist)
	}
	return nil
}

// openReadOnly opens Pebble. With salvage it goes without what is missing or damaged, as far as there is a way.
func (e *Engine) openReadOnly(salvage bool) (last int64, err error) {
	files := &readOnlyFS{FS: tableFS{e.o.fs, &e.damage}, dir: e.dir}
	h := horizon{fs: e.o.fs, dir: e.dir}
	if err := h.read(); err == nil || salvage && !isDenied(err) { // what else is wrong was said
		if e.mirrored, err = files.readMirrored(&h, salvage); err != nil {
			return 0, explainDenied(err)
		}
	}
	if e.mirrored {
		e.log.Warn("the list of the store's tables is not what was written; its second copy is read")
	}
	if salvage {
		if err := e.makeDo(files); err != nil {
			return 0, err
		}
	}
	db, err := e.openPebble(e.dir, e.readOnlyOptions(files))
	if err != nil {
		if isDenied(err) || !ofFiles(err) {
			return 0, fmt.Errorf("embedded: open the store in %s for reading: %w", e.dir, err)
		}
		if salvage {
			return 0, fmt.Errorf("embedded: of the store in %s nothing can be read: %w; start on a backup, or bring "+
				"the files back that it had",
				e.dir, firstLine{err})
		}
		return 0, damaged(e.dir, err)
	}
	e.db.Store(db)
	if err := e.leaveOut(files, salvage); err != nil {
		return 0, err
	}
	db = e.db.Load()
	format, err := readCopy(db, formatKey)
	if err == nil && (format != nil || !salvage) && (len(format) != 1 || format[0] != storeFormat) {
		err = fmt.Errorf("embedded: the store has format %x, this program knows %x", format, storeFormat)
	}
	if err == nil {
		last, err = lastVersion(db)
	}
	if kv.IsCode(err, kv.CodeFileCorrupt) && salvage {
		e.log.Warn("the store's own keys are damaged, and are left out", "error", err)
		err = nil
	}
	if err != nil {
		err = errors.Join(err, db.Close())
	}
	return last, err
}

// makeDo finds what the store lacks, and has Pebble read something else where it would not open the store.
func (e *Engine) makeDo(files *readOnlyFS) (err error) {
	files.salvage = true
	var m mark
	if e.lacks, m, err = lacking(e.o.fs, e.dir); err != nil {
		return err
	}
	if e.mirrored {
		e.lacks = slices.DeleteFunc(e.lacks, func(f kv.Fault) bool { return isManifest(f.File) })
	}
	for _, f := range e.lacks {
		e.log.Warn("the store lacks something; what is read may be older than it was", "file", f.File, "what", f.What)
	}
	names, err := e.o.fs.List(e.dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	files.more = append(lostMarkers(names, m), lostTables(names)...)
	return files.mendLogs(e)
}

// leaveOut opens Pebble once more without the tables in which nothing can be found, if there are any and that is
// wanted.
func (e *Engine) leaveOut(files *readOnlyFS, salvage bool) error {
	if !salvage {
		return nil
	}
	lost, err := e.fillGaps()
	if err == nil && len(lost) > 0 {
		var empty vfs.FS
		if empty, err = emptyTables(lost); err == nil {
			for _, t := range lost {
				files.put(t.name, empty)
			}
		}
	}
	if err != nil {
		return errors.Join(err, e.db.Load().Close())
	}
	e.leftOut = map[string]bool{}
	if len(lost) == 0 {
		return nil
	}
	for _, t := range lost {
		e.leftOut[t.name] = true
		e.log.Warn("a table of the store cannot be read as a whole and is left out; what is read may be older than "+
			"it was", "table", t.name, "bytes", t.size)
	}
	if err := e.db.Load().Close(); err != nil {
		return err
	}
	db, err := e.openPebble(e.dir, e.readOnlyOptions(files))
	if err != nil {
		return err
	}
	e.db.Store(db)
	return nil
}

func (e *Engine) readOnlyOptions(files *readOnlyFS) *pebble.Options {
	po := &pebble.Options{
		FS: files, ReadOnly: true, Logger: pebbleLog{log: e.o.Logger, fail: e.fail}, FormatMajorVersion: pebbleFormat,
		CacheSize: e.o.CacheBytes - e.o.CacheBytes/4, MemTableSize: uint64(e.o.MemTableBytes), MaxOpenFiles: 500,
		EventListener:           &pebble.EventListener{BackgroundError: func(error) {}},
		DisableConsistencyCheck: files.salvage, // tables may be missing or cut, see fillGaps
	}
	e.damage.listen(po.EventListener)
	tellCompactions(po)
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return po
}

// readOnlyFS refuses everything that would change a file, and can show other files than there are.
type readOnlyFS struct {
	vfs.FS
	dir     string
	salvage bool
	more    []string          // names in dir that are not there
	instead map[string]vfs.FS // where files are that are in the place of those of the same name in dir
}

// put shows the file of that name in fs instead of the one in the directory.
func (f *readOnlyFS) put(name string, fs vfs.FS) {
	if f.instead == nil {
		f.instead = map[string]vfs.FS{}
	}
	f.instead[name] = fs
}

func (f *readOnlyFS) refuse(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS}
}

// Open implements vfs.FS.
func (f *readOnlyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Open(f.PathBase(name), opts...)
	}
	return f.FS.Open(name, opts...)
}

// Stat implements vfs.FS.
func (f *readOnlyFS) Stat(name string) (vfs.FileInfo, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Stat(f.PathBase(name))
	}
	return f.FS.Stat(name)
}

// List implements vfs.FS.
func (f *readOnlyFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || dir != f.dir {
		return names, err
	}
	for name := range f.instead {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, f.more...), nil
}

// Create implements vfs.FS.
func (f *readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("create", name)
}

// Link implements vfs.FS.
func (f *readOnlyFS) Link(_, name string) error { return f.refuse("link", name) }

// OpenReadWrite implements vfs.FS.
func (f *readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.refuse("open for writing", name)
}

// Remove implements vfs.FS.
func (f *readOnlyFS) Remove(name string) error { return f.refuse("remove", name) }

// RemoveAll implements vfs.FS.
func (f *readOnlyFS) RemoveAll(name string) error { return f.refuse("remove", name) }

// Rename implements vfs.FS.
func (f *readOnlyFS) Rename(name, _ string) error { return f.refuse("rename", name) }

// ReuseForWrite implements vfs.FS.
func (f *readOnlyFS) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("write", name)
}

// MkdirAll implements vfs.FS.
func (f *readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return f.refuse("make", name) }

// Lock implements vfs.FS: OpenReadOnly has the store for itself already.
func (f *readOnlyFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (f *readOnlyFS) Unwrap() vfs.FS { return f.FS }

package storelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// Lock ensures that only one engine uses a store. A lock on a file is lost without notice when the file's name is
// removed, so the directory itself is locked, by its descriptor. The file LOCK is locked too, for older programs and
// for tools that ask which process has the store.
//
// Where a directory cannot be locked, only LOCK is. Then every commit checks, after it was synced and before it is
// answered, that the file of that name is still the locked one. Another engine creates its own LOCK before it reads
// the store, so it finds everything acknowledged here. On Windows an open file cannot be renamed or removed.
type Lock struct {
	Path string       // the directory, free of symbolic links
	File *pebble.Lock // the locked file LOCK
	// The fields below are for stores on a real disk.
	dir      *os.File // nil for other stores
	dirInfo  os.FileInfo
	fileInfo os.FileInfo // identity of LOCK; nil if the directory is locked
}

// heldDirs are the directories that engines of this process have open. The system does not stop one process from
// locking a file twice.
var heldDirs struct {
	sync.Mutex
	infos []os.FileInfo
}

// Take locks the directory, creating it if necessary. It fails if another process, or this one, has it open. fileOnly
// behaves as if directories could not be locked.
func Take(dir string, files vfs.FS, fileOnly bool) (*Lock, error) {
	if err := files.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	l := &Lock{Path: dir}
	locked := false
	if vfs.Root(files) == vfs.Default {
		var err error
		if locked, err = l.lockDir(fileOnly); err != nil {
			return nil, err
		}
	}
	file, err := pebble.LockDirectory(l.Path, files)
	var path *os.PathError
	switch {
	case errors.As(err, &path) && locked && failure.IsUnwritable(err):
		return l, nil // a read-only file system; Pebble locks the file when it can
	case errors.As(err, &path):
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), l.Close())
	case err != nil:
		return nil, errors.Join(l.inUse(), l.Close())
	}
	l.File = file
	if l.dir != nil && !locked {
		if l.fileInfo, err = os.Stat(l.lockFile()); err != nil {
			return nil, errors.Join(fmt.Errorf("embedded: %w", err), l.Close())
		}
	}
	return l, nil
}

// lockDir locks the directory, and reports whether that keeps other processes out. fileOnly pretends that it does
// not.
func (l *Lock) lockDir(fileOnly bool) (locked bool, err error) {
	if l.Path, err = filepath.EvalSymlinks(l.Path); err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	dir, err := os.Open(l.Path)
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	info, err := dir.Stat()
	if err == nil && !fileOnly {
		locked, err = lockDescriptor(dir)
	}
	switch {
	case errors.Is(err, errLocked):
		return false, errors.Join(l.inUse(), dir.Close())
	case err != nil:
		return false, errors.Join(fmt.Errorf("embedded: %w", err), dir.Close())
	}
	heldDirs.Lock()
	defer heldDirs.Unlock()
	if slices.ContainsFunc(heldDirs.infos, func(i os.FileInfo) bool { return os.SameFile(i, info) }) {
		return false, errors.Join(l.inUse(), dir.Close())
	}
	heldDirs.infos = append(heldDirs.infos, info)
	l.dir, l.dirInfo = dir, info
	return locked, nil
}

var errLocked = errors.New("locked")

func (l *Lock) inUse() error {
	return fmt.Errorf("embedded: the store in %s is in use by another process", l.Path)
}

func (l *Lock) lockFile() string { return filepath.Join(l.Path, "LOCK") }

// Lost returns an error once the files at the store's path may belong to another engine: the directory was moved, or
// the lock no longer holds.
func (l *Lock) Lost() error {
	if l.dir == nil {
		return nil
	}
	info, err := os.Stat(l.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, l.dirInfo) {
		return failure.Lost("the directory " + l.Path + " was moved or replaced while its store was open")
	}
	if l.fileInfo == nil {
		return nil
	}
	if info, err = os.Stat(l.lockFile()); err != nil || !os.SameFile(info, l.fileInfo) {
		return failure.Lost("the file " + l.lockFile() +
			" was removed or replaced while the store was open; another process may have the store")
	}
	return nil
}

// Close releases the locks.
func (l *Lock) Close() (err error) {
	if l.File != nil {
		err = l.File.Close()
	}
	if l.dir == nil {
		return err
	}
	heldDirs.Lock()
	heldDirs.infos = slices.DeleteFunc(heldDirs.infos, func(i os.FileInfo) bool { return os.SameFile(i, l.dirInfo) })
	heldDirs.Unlock()
	return errors.Join(err, l.dir.Close())
}

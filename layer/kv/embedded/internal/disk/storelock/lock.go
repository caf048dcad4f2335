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

// Lock keeps a store to one engine. A lock on a file is lost, unseen, with the file's name; so the directory itself is
// locked, by its descriptor. The file LOCK is locked beside it, for older programs and for those who ask which process
// has the store.
//
// Where a directory cannot be locked, LOCK is all there is. It is looked at whether the file of that name still is the
// one that was locked: after a commit was synced, and before it is answered. Another engine makes its own LOCK first
// and reads the store after that, so it finds all that was acknowledged here. On Windows the name of an open file
// cannot be taken away.
type Lock struct {
	Path string       // of the directory, without symbolic links
	File *pebble.Lock // LOCK
	// The rest is for stores on a real disk.
	dir      *os.File // nil elsewhere
	dirInfo  os.FileInfo
	fileInfo os.FileInfo // of LOCK, nil where the directory is locked
}

// heldDirs are the directories that engines of this process have open. A process does not keep itself from locking a
// file twice.
var heldDirs struct {
	sync.Mutex
	infos []os.FileInfo
}

// Take makes the directory where there is none, and refuses one that another process, or this one, has open.
// fileOnly has it locked as where directories cannot be.
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
		return l, nil // it is read, and Pebble locks the file when it can
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

// lockDir takes the directory, and reports whether other processes are kept out by that. fileOnly pretends that they
// are not.
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

// Lost returns an error once the files at the store's path may be another engine's: the directory is not there any
// more, or the lock does not hold.
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

// Close gives the store up.
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

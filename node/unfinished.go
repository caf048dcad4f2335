package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// unfinishedPrefix begins the names of backups that are being made.
const unfinishedPrefix = ".unfinished-"

// errHeld is lockDir's where another process has the directory locked.
var errHeld = errors.New("the directory is locked by another process")

// makeUnfinished makes a directory for a backup in root. The directory is locked until unlock is called or the process
// ends, so that other processes can tell it from one that was left behind. Several nodes may make backups in root: a
// node that uses another one's store asks that node to.
func makeUnfinished(root string) (dir string, unlock func() error, err error) {
	for range 3 {
		if dir, err = os.MkdirTemp(root, unfinishedPrefix); err != nil {
			return "", nil, err
		}
		switch unlock, err = lockDir(dir); {
		case err == nil:
			return dir, unlock, nil
		// Directories cannot be locked here; sweep leaves this one alone then.
		case !errors.Is(err, errHeld) && !errors.Is(err, os.ErrNotExist):
			return dir, func() error { return nil }, nil
		}
		// A node that starts was quicker, and removes it.
	}
	return "", nil, err
}

// sweep removes what killed nodes have left of backups that they were making.
func (b backups) sweep(context.Context) error {
	found, err := filepath.Glob(filepath.Join(escapeGlob(b.root), unfinishedPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range found {
		err := removeUnfinished(dir)
		switch {
		case errors.Is(err, errHeld), errors.Is(err, os.ErrNotExist):
		case err != nil:
			b.log.Warn("a backup that was not finished could not be removed", "directory", dir, "error", err)
		default:
			b.log.Info("a backup that was not finished was removed", "directory", dir)
		}
	}
	return nil
}

// removeUnfinished removes a directory unless it is still being written.
func removeUnfinished(dir string) error {
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), unlock())
}

// escapeGlob makes a path a pattern that only matches it.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// unfinishedPrefix begins the names of backups that are being written.
const unfinishedPrefix = ".unfinished-"

// errHeld is returned by lockDir if another process holds the lock.
var errHeld = errors.New("the directory is locked by another process")

// makeUnfinished creates a directory for a backup in root. The directory stays locked until unlock is called or the
// process ends, so that other processes can tell it from an abandoned one. Several nodes may write backups to root,
// because a node that uses another node's store asks that node to.
func makeUnfinished(root string) (dir string, unlock func() error, err error) {
	for range 3 {
		if dir, err = os.MkdirTemp(root, unfinishedPrefix); err != nil {
			return "", nil, err
		}
		switch unlock, err = lockDir(dir); {
		case err == nil:
			return dir, unlock, nil
		// Directories cannot be locked here. sweep then keeps this one, since it cannot lock it either.
		case !errors.Is(err, errHeld) && !errors.Is(err, os.ErrNotExist):
			return dir, func() error { return nil }, nil
		}
		// Another node, just starting, locked the directory first and removes it.
	}
	return "", nil, err
}

// sweep removes unfinished backups of killed nodes.
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
			b.log.Warn("an unfinished backup could not be removed", "directory", dir, "error", err)
		default:
			b.log.Info("an unfinished backup was removed", "directory", dir)
		}
	}
	return nil
}

// removeUnfinished removes a directory unless a backup is still being written to it.
func removeUnfinished(dir string) error {
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(dir), unlock())
}

// escapeGlob returns a pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

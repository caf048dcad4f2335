package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/storelock"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// FileFormat is the format of files, numbered by Pebble, that this program writes and upgrades older ones to.
const FileFormat = int(store.PebbleFormat)

// Found is what Inspect finds out about a store without opening it.
type Found struct {
	Exists bool
	// Version is the last version recorded on disk; 0 if there is none. A store that is in use, or was not closed,
	// may be at a later version.
	Version int64
	// PebbleFormat is the format of the files.
	PebbleFormat int
	// Holder is the process that has the store open, 0 for none. HolderKnown is false if the system does not tell.
	Holder      int
	HolderKnown bool
	// FreeBytes is the free disk space for users other than root.
	FreeBytes uint64
}

// Inspect examines the store in dir, or the place where it would be created, without changing anything. The error
// says why it could not be opened as it is; being open in another process is not an error. If nobody has the store
// open, Inspect reads the logs and the manifest, but no tables: for those Pebble would have to lock the store.
//
// Do not call it in a process that has the store open: the system releases a process's lock on a file when any of its
// handles for the file is closed.
func Inspect(dir string) (found Found, err error) {
	if found.FreeBytes, err = freeBytes(dir); err != nil {
		return found, fmt.Errorf("embedded: %w", err)
	}
	switch desc, err := pebble.Peek(dir, vfs.Default); {
	case errors.Is(err, fs.ErrNotExist):
		found.HolderKnown = true
		return found, nil
	case err != nil:
		return found, fmt.Errorf("embedded: look into %s: %w", dir, err)
	default:
		found.Exists, found.PebbleFormat = desc.Exists, int(desc.FormatMajorVersion)
	}
	if found.PebbleFormat > FileFormat {
		return found, fmt.Errorf("embedded: the store in %s has Pebble's format %d, this program knows %d", dir,
			found.PebbleFormat, FileFormat)
	}
	if found.Holder, found.HolderKnown, err = storelock.Holder(filepath.Join(dir, "LOCK")); err != nil {
		return found, fmt.Errorf("embedded: %w", err)
	}
	if found.Holder == 0 { // the file may have been removed
		found.Holder = storelock.DirHolder(dir)
	}
	h := horizon.New(vfs.Default, dir)
	if err := h.Read(); err != nil {
		return found, err
	}
	found.Version = h.Version()
	if found.Holder == 0 && found.HolderKnown { // the files do not change
		err = h.Verify(hasHorizonKey)
	}
	return found, err
}

// freeBytes returns the free space of the disk of dir, or of its nearest existing parent.
func freeBytes(dir string) (uint64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return 0, fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			usage, err := vfs.Default.GetDiskUsage(dir)
			return usage.AvailBytes, err
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir:
			return 0, err
		}
		dir = filepath.Dir(dir)
	}
}

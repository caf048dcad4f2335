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

// Found is what Inspect sees of a store without opening it.
type Found struct {
	Exists bool
	// Version that was on disk when it was noted last; 0 where none was. A store that is in use, or was not closed, is
	// further.
	Version int64
	// PebbleFormat of the files, and the one that this program writes and brings older ones to.
	PebbleFormat, NewestFormat int
	// Holder is the process that has the store open, 0 for none. HolderKnown is false where the system does not tell.
	Holder      int
	HolderKnown bool
	// FreeBytes on the disk, for anyone but the superuser.
	FreeBytes uint64
}

// Inspect looks at the store in dir, or at where it would be made, and changes nothing. The error is why it could not
// be opened as it is; that another process has it open is none. Of a store that nobody has open the logs and the
// manifest are read; of tables nothing: for that, Pebble would have to lock the store.
//
// Not in a process that has the store open: the system gives up a process's lock on a file with the first file handle
// that is closed.
func Inspect(dir string) (found Found, err error) {
	found.NewestFormat = int(store.PebbleFormat)
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
	if found.PebbleFormat > found.NewestFormat {
		return found, fmt.Errorf("embedded: the store in %s has Pebble's format %d, this program knows %d", dir,
			found.PebbleFormat, found.NewestFormat)
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
	if found.Holder == 0 && found.HolderKnown { // whose files are at rest
		err = h.Verify(hasHorizonKey)
	}
	return found, err
}

// freeBytes of the disk that dir is on, or its nearest parent that exists.
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

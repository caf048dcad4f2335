package guard

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// kept are the tables that a standby may read.
type kept struct {
	mu    sync.Mutex
	names map[string]bool // true: to be removed once nobody reads it
}

// Fill adds all tables in dir.
func (k *kept) Fill(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = map[string]bool{}
	for _, name := range names {
		if isTable(name) {
			k.names[fs.PathJoin(dir, name)] = false
		}
	}
	return nil
}

// putOff reports whether the removal of a file has to wait.
func (k *kept) putOff(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.names[name]; !ok {
		return false
	}
	k.names[name] = true
	return true
}

// Free removes the files whose removal had to wait. Files that cannot be removed now are found by Pebble at the next
// opening.
func (k *kept) Free(fs vfs.FS) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, remove := range k.names {
		if remove {
			_ = fs.Remove(name)
		}
	}
	k.names = nil
}

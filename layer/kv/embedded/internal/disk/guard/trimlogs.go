package guard

import (
	"errors"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
)

// TrimLogs gives the room of logs back that Pebble keeps, as long as they were, to write them again: up to four of a
// memtable's size. Pebble does not mind that such a file is shorter.
func (g *Guard) TrimLogs() error {
	if vfs.Root(g.Store.FS) != vfs.Default {
		return nil
	}
	names, err := g.Store.FS.List(g.Store.Dir)
	if err != nil {
		return err
	}
	logs := slices.DeleteFunc(names, func(name string) bool {
		return !horizon.IsLog(name) || horizon.FileNumber(name) == 0
	})
	slices.SortFunc(logs, func(a, b string) int { return int(horizon.FileNumber(a)) - int(horizon.FileNumber(b)) })
	// What is in use are the newest. If there are more by now, too few are taken for old ones.
	inUse := int(g.Store.DB.Load().Metrics().WAL.Files)
	if inUse >= len(logs) {
		return nil
	}
	for _, name := range logs[:len(logs)-inUse] {
		if err := g.trimLog(name); err != nil {
			return err
		}
	}
	return nil
}

// trimLog empties a log that is not in use, unless Pebble has given it another name meanwhile.
func (g *Guard) trimLog(name string) error {
	path := g.Store.FS.PathJoin(g.Store.Dir, name)
	g.reuse.Lock()
	defer g.reuse.Unlock()
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err := g.Horizon.Forget(name); err != nil {
		return err
	}
	if err := os.Truncate(path, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

package guard

import (
	"errors"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
)

// TrimLogs frees the space of obsolete logs that Pebble keeps at full length for reuse: up to four memtable sizes.
// Pebble accepts shorter files.
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
	// The newest logs are in use. If more are in use by now, the metric is too high, which only spares some old logs.
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

// trimLog empties an unused log, unless Pebble has renamed it meanwhile.
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

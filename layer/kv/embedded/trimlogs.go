package embedded

import (
	"errors"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// trimLogs gives the room of logs back that Pebble keeps, as long as they were, to write them again: up to four of a memtable's size. Pebble does not
// mind that such a file is shorter.
func (g *guard) trimLogs() error {
	if vfs.Root(g.store.fs) != vfs.Default {
		return nil
	}
	names, err := g.store.fs.List(g.store.dir)
	if err != nil {
		return err
	}
	logs := slices.DeleteFunc(names, func(name string) bool { return !isLog(name) || fileNumber(name) == 0 })
	slices.SortFunc(logs, func(a, b string) int { return int(fileNumber(a)) - int(fileNumber(b)) })
	// What is in use are the newest. If there are more by now, too few are taken for old ones.
	inUse := int(g.store.db.Load().Metrics().WAL.Files)
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
func (g *guard) trimLog(name string) error {
	path := g.store.fs.PathJoin(g.store.dir, name)
	g.reuse.Lock()
	defer g.reuse.Unlock()
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err := g.horizon.forget(name); err != nil {
		return err
	}
	if err := os.Truncate(path, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

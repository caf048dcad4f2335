package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// replaceLogs looks at the logs of an open store. All that is in them is in memory too, so a log that is not what was
// written is no loss yet: it is written to tables, and the log is needed no more. The next start would refuse the store
// for it.
func (g *guard) replaceLogs(ctx context.Context) error {
	if err := g.restoreHorizon(); err != nil {
		return err
	}
	if _, err := g.manifestMended(); err != nil {
		return err
	}
	damaged := map[string]string{}
	for _, p := range g.horizon.mark().files {
		if !isLog(p.name) {
			continue
		}
		what, err := g.horizon.compare(p)
		if err != nil {
			return explainDenied(err)
		}
		if what != "" && g.horizon.marks(p.name) { // otherwise it is gone since
			damaged[p.name] = what
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	flushed, err := g.store.db.Load().AsyncFlush()
	if err != nil {
		return fmt.Errorf("embedded: write what is in damaged logs to tables: %w", err)
	}
	select { // that may have to wait for room on the disk
	case <-flushed:
	case <-ctx.Done():
		return contextError(ctx)
	case <-g.store.stop:
		return errClosed
	case <-g.store.failing:
		return g.store.failed()
	}
	for name, what := range damaged {
		if err := g.dropLog(name); err != nil {
			return err
		}
		g.store.log.Error("a log of the store was not what was written; what it held was in memory, and is in tables now: "+
			"the disk may be failing", "log", name, "what", what)
	}
	return nil
}

// dropLog has the horizon forget a log whose rows are in tables. Pebble may want to use the file again, so it is made
// where it is missing.
func (g *guard) dropLog(name string) error {
	g.reuse.Lock()
	defer g.reuse.Unlock()
	if !g.horizon.marks(name) {
		return nil // Pebble has dropped it
	}
	if err := g.horizon.forget(name); err != nil {
		return err
	}
	path := g.store.fs.PathJoin(g.store.dir, name)
	if _, err := g.store.fs.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := g.store.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return f.Close()
}

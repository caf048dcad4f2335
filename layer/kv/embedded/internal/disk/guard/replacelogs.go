package guard

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// ReplaceLogs looks at the logs of an open store. All that is in them is in memory too, so a log that is not what was
// written is no loss yet: it is written to tables, and the log is needed no more. The next start would refuse the store
// for it.
func (g *Guard) ReplaceLogs(ctx context.Context) error {
	if err := g.RestoreHorizon(); err != nil {
		return err
	}
	if _, err := g.ManifestMended(); err != nil {
		return err
	}
	damaged := map[string]string{}
	for _, p := range g.Horizon.Mark().Files {
		if !horizon.IsLog(p.Name) {
			continue
		}
		what, err := g.Horizon.Compare(p)
		if err != nil {
			return failure.ExplainDenied(err)
		}
		if what != "" && g.Horizon.Marks(p.Name) { // otherwise it is gone since
			damaged[p.Name] = what
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	flushed, err := g.Store.DB.Load().AsyncFlush()
	if err != nil {
		return fmt.Errorf("embedded: write what is in damaged logs to tables: %w", err)
	}
	select { // that may have to wait for room on the disk
	case <-flushed:
	case <-ctx.Done():
		return failure.OfContext(ctx)
	case <-g.Store.Stop:
		return failure.ErrClosed
	case <-g.Store.Failing:
		return g.Store.Failed()
	}
	for name, what := range damaged {
		if err := g.dropLog(name); err != nil {
			return err
		}
		g.Store.Log.Error("a log of the store was not what was written; what it held was in memory, and is in "+
			"tables now: "+
			"the disk may be failing", "log", name, "what", what)
	}
	return nil
}

// dropLog has the horizon forget a log whose rows are in tables. Pebble may want to use the file again, so it is made
// where it is missing.
func (g *Guard) dropLog(name string) error {
	g.reuse.Lock()
	defer g.reuse.Unlock()
	if !g.Horizon.Marks(name) {
		return nil // Pebble has dropped it
	}
	if err := g.Horizon.Forget(name); err != nil {
		return err
	}
	path := g.Store.FS.PathJoin(g.Store.Dir, name)
	if _, err := g.Store.FS.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := g.Store.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return f.Close()
}

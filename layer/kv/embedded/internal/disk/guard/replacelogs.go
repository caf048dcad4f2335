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

// ReplaceLogs checks the logs of an open store. Everything in them is still in memory, so a log that is damaged on
// disk loses nothing yet: its rows are flushed to tables, and the log is no longer needed. Otherwise the next start
// would refuse the store.
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
		if what != "" && g.Horizon.Marks(p.Name) { // otherwise the log is gone by now
			damaged[p.Name] = what
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	flushed, err := g.Store.DB.Load().AsyncFlush()
	if err != nil {
		return fmt.Errorf("embedded: flush the rows of damaged logs to tables: %w", err)
	}
	select { // this may have to wait for disk space
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
		g.Store.Log.Error("a log of the store was damaged on disk; its rows were still in memory and have been "+
			"written to tables: "+
			"the disk may be failing", "log", name, "what", what)
	}
	return nil
}

// dropLog makes the horizon forget a log whose rows are in tables. If the file is missing, it is created, because
// Pebble may want to reuse it.
func (g *Guard) dropLog(name string) error {
	g.reuse.Lock()
	defer g.reuse.Unlock()
	if !g.Horizon.Marks(name) {
		return nil // Pebble has removed it
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

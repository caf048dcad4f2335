package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// replaceLogs looks at the logs of an open store. All that is in them is in memory too, so a log that is not what was
// written is no loss yet: it is written to tables, and the log is needed no more. The next start would refuse the store
// for it.
func (e *Engine) replaceLogs(ctx context.Context) error {
	if e.reading != nil || e.space.opening.Load() {
		return nil
	}
	if err := e.restoreHorizon(); err != nil {
		return err
	}
	if _, err := e.manifestMended(); err != nil {
		return err
	}
	damaged := map[string]string{}
	for _, p := range e.horizon.mark().files {
		if !isLog(p.name) {
			continue
		}
		what, err := e.horizon.compare(p)
		if err != nil {
			return explainDenied(err)
		}
		if what != "" && e.horizon.marks(p.name) { // otherwise it is gone since
			damaged[p.name] = what
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	flushed, err := e.db.Load().AsyncFlush()
	if err != nil {
		return fmt.Errorf("embedded: write what is in damaged logs to tables: %w", err)
	}
	select { // that may have to wait for room on the disk
	case <-flushed:
	case <-ctx.Done():
		return contextError(ctx)
	case <-e.stop:
		return errClosed
	case <-e.failing:
		return e.Failed()
	}
	for name, what := range damaged {
		if err := e.dropLog(name); err != nil {
			return err
		}
		e.log.Error("a log of the store was not what was written; what it held was in memory, and is in tables now: "+
			"the disk may be failing", "log", name, "what", what)
	}
	return nil
}

// dropLog has the horizon forget a log whose rows are in tables. Pebble may want to use the file again, so it is made
// where it is missing.
func (e *Engine) dropLog(name string) error {
	e.guard.reuse.Lock()
	defer e.guard.reuse.Unlock()
	if !e.horizon.marks(name) {
		return nil // Pebble has dropped it
	}
	if err := e.horizon.forget(name); err != nil {
		return err
	}
	path := e.o.fs.PathJoin(e.dir, name)
	if _, err := e.o.fs.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := e.o.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return f.Close()
}

// marks reports whether a file is one that must be as it was written.
func (h *horizon) marks(name string) bool {
	return slices.ContainsFunc(h.mark().files, func(p prefix) bool { return p.name == name })
}

package api

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/divandb/divan/layer"
)

// compactor runs the compactions that were asked for, one per database at a time.
type compactor struct {
	ctx     context.Context // ends with the server
	cancel  context.CancelFunc
	workers sync.WaitGroup
	mu      struct {
		sync.Mutex
		stopped bool
		running map[string]bool // by UUID
	}
}

// start compacts a database in the background, unless that is under way already.
func (c *compactor) start(db *layer.Database, log *slog.Logger) {
	info, err := db.Info(c.ctx)
	if err != nil {
		return // deleted meanwhile
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.stopped || c.mu.running[info.UUID] {
		return
	}
	if c.mu.running == nil {
		c.mu.running = map[string]bool{}
	}
	c.mu.running[info.UUID] = true
	c.workers.Go(func() {
		defer func() {
			c.mu.Lock()
			delete(c.mu.running, info.UUID)
			c.mu.Unlock()
		}()
		if err := compact(c.ctx, db); err != nil && c.ctx.Err() == nil {
			log.Error("compaction failed", "database", db.Name(), "error", err)
		}
	})
}

func compact(ctx context.Context, db *layer.Database) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return db.Compact(ctx)
}

func (c *compactor) isRunning(uuid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.running[uuid]
}

// stop cancels what runs and waits for it.
func (c *compactor) stop() {
	c.mu.Lock()
	c.mu.stopped = true
	c.mu.Unlock()
	c.cancel()
	c.workers.Wait()
}

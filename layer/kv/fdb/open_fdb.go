//go:build fdb

package fdb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Available reports whether this binary has the engine.
const Available = true

type engine struct {
	kv.Counts

	db     *handle
	o      Options
	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
	// watching counts the goroutines of watches. Close waits for them.
	watching sync.WaitGroup

	status struct {
		sync.Mutex // held while the cluster is asked
		last       Status
	}

	mu struct {
		sync.Mutex
		closed bool
		// live are the transactions that have not ended. Close cancels them.
		live map[*transaction]struct{}
	}
}

// Open connects to a cluster. It does not wait for the cluster to answer: the first transaction does, within
// Options.Timeout. The network options (TraceDir, ClientLibraries and TLS) apply to the whole process: those of the
// first Open are used. Likewise, the cluster options (Timeout, RetryLimit, AutomaticIdempotency, MaxWatches) of the
// first Open for a cluster are used.
func Open(o Options) (kv.Engine, error) {
	o = o.withDefaults()
	db, err := openHandle(o)
	if err != nil {
		return nil, fmt.Errorf("FoundationDB: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &engine{db: db, o: o, ctx: ctx, cancel: cancel}
	e.mu.live = map[*transaction]struct{}{}
	return e, nil
}

func (e *engine) Name() string { return "fdb" }

// MaxAttempts implements kv.RetryLimiter.
func (e *engine) MaxAttempts() int { return e.o.RetryLimit }

// Close ends everything in progress. The client's network thread runs until the process ends, because the client
// cannot start it twice.
func (e *engine) Close() error {
	e.mu.Lock()
	if e.mu.closed {
		e.mu.Unlock()
		return nil
	}
	e.mu.closed = true
	live := e.mu.live
	e.mu.live = nil
	e.mu.Unlock()
	for t := range live {
		t.end()
	}
	e.cancel()
	e.watching.Wait()
	e.db.release()
	return nil
}

func (e *engine) Begin(ctx context.Context) kv.Transaction {
	t := &transaction{}
	t.engine, t.ctx, t.began = e, ctx, time.Now()
	if err := contextError(ctx); err != nil {
		return t.refuse(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return t.refuse(kv.NewError(kv.CodeCancelled, "the store is closed", nil))
	}
	tr, err := e.db.db.CreateTransaction()
	if err == nil && e.o.Tag != "" {
		err = tr.Options().SetTag(e.o.Tag)
	}
	if err != nil {
		return t.refuse(convert(ctx, err))
	}
	t.tr = tr
	e.mu.live[t] = struct{}{}
	// When the context ends, the transaction is cancelled, and with it every future that somebody waits for.
	t.unhook = context.AfterFunc(ctx, t.end)
	return t
}

// forget removes a transaction that has ended.
func (e *engine) forget(t *transaction) {
	e.mu.Lock()
	delete(e.mu.live, t)
	e.mu.Unlock()
}

// watch runs f in a goroutine that Close waits for. It returns false if the engine is closed.
func (e *engine) watch(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.mu.closed {
		e.watching.Go(f)
	}
	return !e.mu.closed
}

const (
	defaultTimeout    = 10 * time.Second
	defaultMaxWatches = 100_000
)

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxWatches == 0 {
		o.MaxWatches = defaultMaxWatches
	}
	return o
}

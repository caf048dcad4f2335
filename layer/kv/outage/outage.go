// Package outage lets transactions fail at once while the store does not answer. An engine whose transactions each wait
// for a store that is away, such as FoundationDB's client, would let every request wait for its whole timeout.
//
// A guard reads one key every second. Once no read has been answered for as long as the store may be silent, new
// transactions fail with CodeUnreachable, without asking the store. From then on the guard always has a read under way,
// so that it notices within a second that the store answers again. Transactions that began before the store was found
// to be away are left alone: their commits may still happen.
package outage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Options are the options of Guard.
type Options struct {
	// Key is read. It need not exist.
	Key []byte
	// Silence is how long the store may be silent. 0 means 5 seconds.
	Silence time.Duration
}

const (
	// every is the pause between reads while the store answers, again the pause while it does not.
	every = time.Second
	again = 100 * time.Millisecond
	// patience bounds one read while the store does not answer: a client may lose a read of a cluster that was started
	// anew.
	patience       = time.Second
	defaultSilence = 5 * time.Second
)

// Engine is a guarded engine. It has no optional abilities but kv.RetryLimiter and the counts of transactions.
type Engine struct {
	below kv.Engine
	o     Options

	lost atomic.Pointer[kv.Error] // what transactions fail with while the store does not answer

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Guard starts to guard below. Closing the Engine closes below.
func Guard(below kv.Engine, o Options) *Engine {
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{below: below, o: o, stop: cancel}
	e.running.Go(func() { e.watch(ctx) })
	return e
}

// watch reads the key until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	for ctx.Err() == nil {
		within, pause := e.o.Silence, every
		if e.lost.Load() != nil {
			within, pause = min(patience, e.o.Silence), again
		}
		began, before := time.Now(), e.commits()
		switch answered := e.read(ctx, within); {
		case answered:
			e.lost.Store(nil)
		case ctx.Err() != nil:
			return
		case e.lost.Load() == nil && e.commits() == before: // a slow store is not away
			e.lost.Store(kv.NewError(kv.CodeUnreachable, "the store does not answer since "+
				began.UTC().Format(time.RFC3339), nil))
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// read reports whether the store answers a read in time, if only with an error.
func (e *Engine) read(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tx := e.below.Begin(ctx)
	defer tx.Cancel()
	_, err := tx.Get(e.o.Key).Wait()
	return ctx.Err() == nil && !kv.IsCode(err, kv.CodeUnreachable)
}

// commits returns the number of commits so far.
func (e *Engine) commits() int64 { return e.Tally().Counted().Commits }

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction {
	if lost := e.lost.Load(); lost != nil {
		return refused{lost}
	}
	return e.below.Begin(ctx)
}

// Below returns the engine that is guarded, for what it can do beyond an Engine.
func (e *Engine) Below() kv.Engine { return e.below }

// Name implements kv.Engine.
func (e *Engine) Name() string { return e.below.Name() }

// Close implements kv.Engine.
func (e *Engine) Close() error {
	e.stop()
	e.running.Wait()
	return e.below.Close()
}

// MaxAttempts implements kv.RetryLimiter.
func (e *Engine) MaxAttempts() int {
	if l, ok := e.below.(kv.RetryLimiter); ok {
		return l.MaxAttempts()
	}
	return 0
}

// Tally returns the counts of the engine below, for kv.Transact.
func (e *Engine) Tally() *kv.Counts {
	if c, ok := e.below.(interface{ Tally() *kv.Counts }); ok {
		return c.Tally()
	}
	return &kv.Counts{}
}

// Package faultkv wraps any kv.Engine and makes it fail as a real cluster does: conflicts, transactions that are too
// old, future versions, commits of unknown result that did happen and that did not, slowness, watches that fire for
// nothing, and a process that is killed. Code above an engine is right when it gives the same results on both:
//
//	e := faultkv.New(engine, faultkv.Options{Seed: 1}) // every fault now and then
//	e := faultkv.New(engine, faultkv.Options{Seed: 1, Rates: faultkv.Rates{UnknownCommitted: 0.3}})
//	...
//	if e.Injected()[faultkv.UnknownCommitted] == 0 { t.Error("the test met no fault") }
//
// Only failures that FoundationDB's semantics allow are injected. Whatever is written once in spite of a fault
// reported by a commit that kv.MaybeCommitted denies, or twice after one that it affirms, is a bug of the code under
// test.
package faultkv

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Fault is a kind of failure.
type Fault int

const (
	// Conflict: a commit that would have written fails with CodeNotCommitted, and writes nothing.
	Conflict Fault = iota
	// TooOld: a read or such a commit fails with CodeTooOld, and so does all that the transaction does later.
	TooOld
	// FutureVersion: a transaction's first read fails with CodeFutureVersion, and so does all that it does later.
	FutureVersion
	// UnknownLost: a commit fails with CodeUnknownResult and wrote nothing.
	UnknownLost
	// UnknownCommitted: a commit fails with CodeUnknownResult and wrote everything.
	UnknownCommitted
	// Slow: a call takes up to Options.Delay longer.
	Slow
	// Spurious: a watch fires at once, without a change.
	Spurious
	// Killed: a call met a killed engine.
	Killed

	faults
)

var names = [faults]string{"conflict", "too old", "future version", "unknown and lost", "unknown and committed", "slow",
	"spurious", "killed"}

func (f Fault) String() string { return names[f] }

// Rates are how often a fault is injected where it can be: 0 never, 1 always.
type Rates struct {
	Conflict, TooOld, FutureVersion, UnknownLost, UnknownCommitted, Slow, Spurious float64
}

// DefaultRates make most transactions of a few calls succeed and every kind of fault turn up in a hundred of them.
var DefaultRates = Rates{Conflict: 0.05, TooOld: 0.01, FutureVersion: 0.02, UnknownLost: 0.04, UnknownCommitted: 0.04,
	Slow: 0.05, Spurious: 0.1}

// Options of New.
type Options struct {
	// Seed decides which calls fail. With one goroutine the same calls fail in every run.
	Seed uint64
	// Rates, where all zero, are DefaultRates.
	Rates Rates
	// Delay is the longest time that Slow adds to a call. 0 is a millisecond.
	Delay time.Duration
}

// Engine is an engine with faults. It is a kv.Snapshotter if the engine below is one; long snapshots have no faults
// but Slow and Killed.
type Engine interface {
	kv.Engine
	// Kill makes the engine fail like a process that died: every call, also of transactions under way, fails with
	// CodeCancelled, and every commit under way with CodeUnknownResult whether or not it was made. Watches end with
	// CodeCancelled.
	Kill()
	// Revive ends Kill for new transactions. Those that were open when it was called stay dead.
	Revive()
	// Injected is how many faults there were so far.
	Injected() map[Fault]int
}

// New wraps e. Closing the wrapper closes e.
func New(e kv.Engine, o Options) Engine {
	if o.Rates == (Rates{}) {
		o.Rates = DefaultRates
	}
	if o.Delay == 0 {
		o.Delay = time.Millisecond
	}
	w := &engine{below: e, o: o}
	w.mu.rng = rand.New(rand.NewPCG(o.Seed, 0))
	w.life.Store(newLife())
	if s, ok := e.(kv.Snapshotter); ok {
		return snapshotting{w, s}
	}
	return w
}

type engine struct {
	below kv.Engine
	o     Options

	life     atomic.Pointer[life]
	injected [faults]atomic.Int64
	watches  sync.WaitGroup // goroutines that forward a watch

	mu struct {
		sync.Mutex
		rng *rand.Rand
	}
}

// life is the time between two kills.
type life struct {
	over chan struct{} // closed by Kill
	once sync.Once
}

func newLife() *life { return &life{over: make(chan struct{})} }

func (l *life) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (e *engine) Kill() {
	l := e.life.Load()
	l.once.Do(func() { close(l.over) })
}

func (e *engine) Revive() {
	if l := e.life.Load(); l.ended() {
		e.life.CompareAndSwap(l, newLife())
	}
}

func (e *engine) Injected() map[Fault]int {
	m := make(map[Fault]int)
	for f := range faults {
		if n := e.injected[f].Load(); n > 0 {
			m[f] = int(n)
		}
	}
	return m
}

func (e *engine) Name() string { return e.below.Name() }

func (e *engine) Close() error {
	err := e.below.Close()
	e.watches.Wait()
	return err
}

func (e *engine) Begin(ctx context.Context) kv.Transaction {
	return &transaction{Transaction: e.below.Begin(ctx), e: e, life: e.life.Load()}
}

// strikes draws whether a fault happens now, and counts it.
func (e *engine) strikes(f Fault, rate float64) bool {
	if rate <= 0 {
		return false
	}
	e.mu.Lock()
	hit := e.mu.rng.Float64() < rate
	e.mu.Unlock()
	if hit {
		e.injected[f].Add(1)
	}
	return hit
}

// dawdle is slow now and then.
func (e *engine) dawdle() {
	if e.strikes(Slow, e.o.Rates.Slow) {
		e.mu.Lock()
		d := time.Duration(e.mu.rng.Int64N(int64(e.o.Delay)) + 1)
		e.mu.Unlock()
		time.Sleep(d)
	}
}

var errKilled = kv.NewError(kv.CodeCancelled, "faultkv: the process was killed", nil)

func injected(code kv.Code, what string) error {
	return kv.NewError(code, "faultkv: injected "+what, nil)
}

// snapshotting is engine for one that is a kv.Snapshotter.
type snapshotting struct {
	*engine
	snapshots kv.Snapshotter
}

func (s snapshotting) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s.dawdle()
	if s.life.Load().ended() {
		s.injected[Killed].Add(1)
		return nil, errKilled
	}
	snap, err := s.snapshots.OpenSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	check := s.slowOnly(s.life.Load())
	long := snapshot{snap, reader{snap, check}}
	if _, ok := snap.(kv.RangesReader); ok {
		return rangesSnapshot{long, rangesReader{reader{snap, check}}}, nil
	}
	return long, nil
}

// slowOnly is the check before a long snapshot's calls.
func (e *engine) slowOnly(l *life) func() error {
	return func() error {
		e.dawdle()
		if l.ended() {
			e.injected[Killed].Add(1)
			return errKilled
		}
		return nil
	}
}

type snapshot struct {
	kv.Snapshot
	reader reader
}

func (s snapshot) Get(key []byte) kv.Future[[]byte]            { return s.reader.Get(key) }
func (s snapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return s.reader.GetKey(sel) }
func (s snapshot) ReadVersion() kv.Future[int64]               { return s.reader.ReadVersion() }
func (s snapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return s.reader.GetRange(r, o)
}

// rangesSnapshot is a snapshot that reads ranges together.
type rangesSnapshot struct {
	snapshot
	kv.RangesReader
}

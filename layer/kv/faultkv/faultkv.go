// Package faultkv wraps any kv.Engine and makes it fail as a real cluster does: conflicts, transactions that are too
// old, future versions, commits with unknown result (made or not made), slowness, spurious watches, and a process
// that is killed. Code above an engine is correct if it gives the same results with and without the faults:
//
//	e := faultkv.New(engine, faultkv.Options{Seed: 1}) // every fault now and then
//	e := faultkv.New(engine, faultkv.Options{Seed: 1, Rates: faultkv.Rates{UnknownCommitted: 0.3}})
//	...
//	if e.Injected()[faultkv.UnknownCommitted] == 0 { t.Error("the test met no fault") }
//
// Only failures that FoundationDB's semantics allow are injected. The code under test has a bug if it applies a write
// although the commit failed with an error that kv.MaybeCommitted denies, or applies it twice after an error that
// kv.MaybeCommitted affirms.
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
	// TooOld: a read, or a commit that would have written, fails with CodeTooOld, and so does every later call of the
	// transaction.
	TooOld
	// FutureVersion: a transaction's first read fails with CodeFutureVersion, and so does every later call of the
	// transaction.
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
	// Silent: a call had to wait for an engine that did not answer.
	Silent
	// Full: a commit met a full disk.
	Full

	faults
)

var names = [faults]string{"conflict", "too old", "future version", "unknown and lost", "unknown and committed", "slow",
	"spurious", "killed"}

func (f Fault) String() string { return names[f] }

// Rates are the probabilities of the faults: 0 never, 1 always.
type Rates struct {
	Conflict, TooOld, FutureVersion, UnknownLost, UnknownCommitted, Slow, Spurious float64
}

// DefaultRates let most transactions of a few calls succeed and make every kind of fault occur within a hundred of
// them.
var DefaultRates = Rates{Conflict: 0.05, TooOld: 0.01, FutureVersion: 0.02, UnknownLost: 0.04, UnknownCommitted: 0.04,
	Slow: 0.05, Spurious: 0.1}

// Options are the options of New.
type Options struct {
	// Seed decides which calls fail. With one goroutine the same calls fail in every run.
	Seed uint64
	// Rates are the fault rates; all zero means DefaultRates.
	Rates Rates
	// Delay is the longest time that Slow adds to a call. 0 means 1 ms.
	Delay time.Duration
}

// Engine is an engine with injected faults. It is a kv.Snapshotter if the engine below is one; long snapshots have
// only the faults Slow and Killed.
type Engine interface {
	kv.Engine
	// Kill makes the engine fail as if its process had died: every call, also of open transactions, fails with
	// CodeCancelled, and every commit in progress with CodeUnknownResult whether or not it was made. Watches end with
	// CodeCancelled.
	Kill()
	// Revive ends Kill for new transactions. Those that were open when it was called stay dead.
	Revive()
	// Hang makes the engine stop answering, as if its network were cut or the process stopped: calls wait until Resume
	// or the end of their transaction's context, for at most ten seconds, and then fail with CodeUnreachable. A commit
	// that has already begun is still answered. Watches fire after Resume.
	Hang()
	// Resume ends Hang.
	Resume()
	// Fill makes commits fail with CodeDiskFull unless they make room, until it is called with false.
	Fill(full bool)
	// Injected returns the number of faults injected so far.
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
	trouble  trouble

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
	return &transaction{Transaction: e.below.Begin(ctx), e: e, life: e.life.Load(), ctx: ctx}
}

// strikes decides at random whether a fault happens now, and counts it.
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

// delay sleeps now and then.
func (e *engine) delay() {
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

// snapshotting is an engine over one that is a kv.Snapshotter.
type snapshotting struct {
	*engine
	snapshots kv.Snapshotter
}

func (s snapshotting) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s.delay()
	if err := s.answers(ctx, s.life.Load()); err != nil {
		return nil, err
	}
	if s.life.Load().ended() {
		s.injected[Killed].Add(1)
		return nil, errKilled
	}
	snap, err := s.snapshots.OpenSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	check := s.slowOnly(ctx, s.life.Load())
	long := snapshot{snap, reader{snap, check}}
	if _, ok := snap.(kv.RangesReader); ok {
		return rangesSnapshot{long, rangesReader{reader{snap, check}}}, nil
	}
	return long, nil
}

// slowOnly is the check before the calls of a long snapshot.
func (e *engine) slowOnly(ctx context.Context, l *life) func() error {
	return func() error {
		e.delay()
		if err := e.answers(ctx, l); err != nil {
			return err
		}
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

// Lost implements kv.Loser for a snapshot below that does.
func (s snapshot) Lost() bool { return kv.Lost(s.Snapshot) }

// rangesSnapshot is a snapshot with GetRanges.
type rangesSnapshot struct {
	snapshot
	kv.RangesReader
}

// Package outage lets transactions fail at once while the store does not answer. An engine whose transactions each wait
// for a store that is away, such as FoundationDB's client, would let every request wait for its whole timeout.
//
// A guard reads one key every second. Once it has waited two seconds for an answer, new transactions fail with
// CodeUnreachable, without asking the store. Those that wait for a read fail, too, once it has waited for as long as
// the store may be silent. Only commits that are under way are left alone: they may still happen. From then on the
// guard always has a read under way, so that it notices within a second that the store answers again.
package outage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

var _ kv.Degrader = (*Engine)(nil)

// Options are the options of Guard.
type Options struct {
	// Key is read. It need not exist.
	Key []byte
	// Silence is how long the store may be silent before transactions that have begun fail. Those that begin later than
	// two fifths of it, at most two seconds, fail at once. 0 means 5 seconds.
	Silence time.Duration
}

const (
	// every is the pause between reads while the store answers, again the pause while it does not.
	every = time.Second
	again = 100 * time.Millisecond
	// locked is how long a lock must have lasted to count as an outage.
	locked = time.Second
	// patience bounds one read while the store does not answer: a client may lose a read of a cluster that was started
	// anew.
	patience       = time.Second
	defaultSilence = 5 * time.Second
)

// Engine is a guarded engine. It has no optional abilities but kv.RetryLimiter, kv.Degrader, which tells of a lock, and
// the counts of transactions.
type Engine struct {
	below kv.Engine
	o     Options

	state atomic.Pointer[state]

	stop    context.CancelFunc
	running sync.WaitGroup
}

// state is what is known of the store. It is replaced when that changes.
type state struct {
	lost *kv.Error // what transactions fail with; nil while the store answers
	lock time.Time // since when the store is locked, if that is why it is lost
	// doubted is what new transactions fail with while the store has been silent for some time, but not yet for as long
	// as it may be; nil otherwise.
	doubted atomic.Pointer[kv.Error]
	// ctx ends, with lost as its cause, when the store is found to be away.
	ctx context.Context
	end context.CancelCauseFunc
}

func newState(lost *kv.Error) *state {
	s := &state{lost: lost}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// Guard starts to guard below, whose transactions must fail with the cause of their context's end if that is a
// *kv.Error. Closing the Engine closes below.
func Guard(below kv.Engine, o Options) *Engine {
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{below: below, o: o, stop: cancel}
	e.state.Store(newState(nil))
	e.running.Go(func() { e.watch(ctx) })
	return e
}

// watch reads the key until ctx ends.
func (e *Engine) watch(ctx context.Context) {
	var lockSeen time.Time // since when the store is locked; zero if it is not
	for ctx.Err() == nil {
		within, pause := e.o.Silence, every
		lost := e.state.Load().lost != nil
		if lost {
			within, pause = min(patience, e.o.Silence), again
		}
		began, before := time.Now(), e.commits()
		said := e.read(ctx, within, before)
		switch {
		case said != isLocked:
			lockSeen = time.Time{}
		case lockSeen.IsZero():
			lockSeen = began
		}
		switch {
		case said == answers && lost:
			e.state.Store(newState(nil))
		case said == answers:
		case ctx.Err() != nil:
			return
		case said == isLocked:
			if pause = again; !lost && time.Since(lockSeen) >= locked {
				e.lose("the store is locked", lockSeen, lockSeen)
			}
		case !lost && e.commits() == before: // a slow store is not away
			e.lose(silent, began, time.Time{})
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// lose makes transactions fail from now on. lock is when the store was locked, if it is.
func (e *Engine) lose(what string, since, lock time.Time) {
	away := newState(unreachable(what, since))
	away.lock = lock
	e.state.Swap(away).end(away.lost)
}

const silent = "the store does not answer"

func unreachable(what string, since time.Time) *kv.Error {
	return kv.NewError(kv.CodeUnreachable, what+" since "+since.UTC().Format(time.RFC3339), nil)
}

// doubt makes new transactions fail when an answer takes so long that the store is likely to be away, until stop is
// called.
func (e *Engine) doubt(before int64) (stop func()) {
	s, began := e.state.Load(), time.Now()
	ctx, answered := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		// In two steps: if this process was stopped meanwhile, the answer comes before the second.
		for range 2 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(2*time.Second, 2*e.o.Silence/5) / 2):
			}
		}
		if e.commits() == before { // a slow store is not away
			s.doubted.Store(unreachable(silent, began))
		}
	})
	return func() {
		answered()
		waiting.Wait()
		s.doubted.Store(nil)
	}
}

// sign is what a read says about the store.
type sign uint8

const (
	answers  sign = iota // if only with an error
	isSilent             // it has not answered in time
	isLocked
)

// read asks the store for a sign of life. before is the number of commits so far.
func (e *Engine) read(ctx context.Context, within time.Duration, before int64) sign {
	defer e.doubt(before)()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tx := e.below.Begin(ctx)
	defer tx.Cancel()
	switch _, err := tx.Get(e.o.Key).Wait(); {
	case ctx.Err() != nil || kv.IsCode(err, kv.CodeUnreachable):
		return isSilent
	case kv.IsCode(err, kv.CodeDatabaseLocked):
		return isLocked
	}
	return answers
}

// Degraded implements kv.Degrader.
func (e *Engine) Degraded() []string {
	since := e.state.Load().lock
	if since.IsZero() {
		return nil
	}
	return []string{"store_locked: the store is locked since " + since.UTC().Format(time.RFC3339) +
		"; a restore or a change of clusters locks it, and fdbcli's unlock frees it"}
}

// commits returns the number of commits so far.
func (e *Engine) commits() int64 { return e.Tally().Counted().Commits }

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction {
	s := e.state.Load()
	for _, err := range []*kv.Error{s.lost, s.doubted.Load()} {
		if err != nil {
			return refused{err}
		}
	}
	t := &transaction{}
	ctx, t.cancel = context.WithCancelCause(ctx)
	t.detach = context.AfterFunc(s.ctx, func() { t.cancel(context.Cause(s.ctx)) })
	t.Transaction = e.below.Begin(ctx)
	return t
}

// transaction is a transaction that fails when the store is found to be away, unless its commit has begun.
type transaction struct {
	kv.Transaction
	detach func() bool
	cancel context.CancelCauseFunc
}

// Commit implements kv.Transaction.
func (t *transaction) Commit() error {
	t.detach()
	return t.Transaction.Commit()
}

// Cancel implements kv.Transaction.
func (t *transaction) Cancel() {
	t.detach()
	t.Transaction.Cancel()
	t.cancel(nil)
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

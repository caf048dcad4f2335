//go:build fdb

package fdb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// transaction wraps the client's transaction, which is itself safe for concurrent use.
//
// It consists of embedded parts, each built on the one before and with its own state: its reads (txReads), its writes
// (txWrites), and its end.
type transaction struct {
	txWrites
	unhook func() bool // unregisters end from the context; nil if the transaction could not be created

	mu struct {
		sync.Mutex
		stage stage
		stamp fdb.FutureKey // requested with the commit, as the client requires
		// watches of a transaction that has not committed end with it.
		watches []*watch
	}
}

// txReads is the client's transaction and the reads from it.
type txReads struct {
	engine *engine
	ctx    context.Context
	began  time.Time
	tr     fdb.Transaction

	// refused is the first failure that the client does not know of. All later calls fail with it.
	refused atomic.Pointer[error]
}

// txWrites are a transaction's writes so far.
type txWrites struct {
	txReads
	// wrote is set by writes, conflicting by writes and write conflicts.
	wrote, conflicting atomic.Bool
	size               atomic.Int64
}

// stage is the stage of a transaction's life.
type stage int

const (
	active stage = iota
	committing
	committed
	failed    // by its commit
	cancelled // by Cancel, the context or Close
)

// refuse makes the transaction fail all calls with err.
func (t *transaction) refuse(err error) *transaction {
	t.fail(err)
	t.mu.stage = cancelled
	return t
}

func (t *txReads) fail(err error) { t.refused.CompareAndSwap(nil, &err) }

func (t *txReads) err() error {
	if p := t.refused.Load(); p != nil {
		return *p
	}
	return nil
}

// age returns the transaction's age, which the client's time limit is about.
func (t *txReads) age() time.Duration { return time.Since(t.began) }

// convert converts an error of a read or commit that was issued at the given age of the transaction. If that age was
// past the time for which a version can be read, or past half of the client's time limit, so that the cluster did not
// have the other half to answer, reaching the limit does not mean that the cluster is unreachable: the transaction is
// too old, as it would have been without the limit.
func (t *txReads) convert(err error, age time.Duration) error {
	err = convert(t.ctx, err)
	if age > min(kv.TransactionSeconds*time.Second, t.engine.o.Timeout/2) && kv.IsCode(err, kv.CodeUnreachable) {
		return kv.NewError(kv.CodeTooOld, "the transaction is too old", nil)
	}
	return err
}

func (t *txReads) Snapshot() kv.Reader { return snapshot{t} }

// MakesRoom implements kv.Transaction. It has no effect: the cluster's ratekeeper watches its disks.
func (t *txWrites) MakesRoom() {}

func (t *txWrites) CausalReadRisky() {
	if t.err() == nil {
		t.note(t.tr.Options().SetCausalReadRisky())
	}
}

// SetReadVersion is an error if called twice or after a read. Later reads report it, because the client defers the
// error.
func (t *txWrites) SetReadVersion(version int64) {
	if t.err() == nil {
		t.tr.SetReadVersion(version)
	}
}

func (t *txWrites) AddReadConflict(r kv.KeyRange) {
	if t.err() == nil {
		t.size.Add(rangeOverhead + int64(len(r.Begin)+len(r.End)))
		t.note(t.tr.AddReadConflictRange(keyRange(r)))
	}
}

func (t *txWrites) AddWriteConflict(r kv.KeyRange) {
	if t.err() == nil {
		t.conflicting.Store(true)
		t.size.Add(rangeOverhead + int64(len(r.Begin)+len(r.End)))
		t.note(t.tr.AddWriteConflictRange(keyRange(r)))
	}
}

func (t *txReads) note(err error) {
	if err != nil {
		t.fail(convert(t.ctx, err))
	}
}

// Commit implements kv.Transaction. If the transaction is cancelled during the commit, the commit may have happened;
// the client does not say so, but Commit does.
func (t *transaction) Commit() error {
	if err := t.err(); err != nil {
		return err
	}
	age := t.age()
	done, err := t.startCommit()
	if err != nil {
		return err
	}
	err = convert(t.ctx, done.Get())
	if age > t.engine.o.Timeout && kv.IsCode(err, kv.CodeUnreachable) { // it was never sent
		err = kv.NewError(kv.CodeTooOld, "the transaction is too old", nil)
	}
	t.mu.Lock()
	if t.mu.stage = committed; err != nil {
		t.mu.stage = failed
		t.cancelWatches()
	}
	t.mu.watches = nil
	t.mu.Unlock()
	t.unhook()
	if e := (*kv.Error)(nil); errors.As(err, &e) && t.conflicting.Load() {
		switch e.Code {
		case kv.CodeCancelled, kv.CodeTimedOut, kv.CodeUnreachable:
			e.Maybe = true
		}
	}
	return err
}

func (t *transaction) startCommit() (fdb.FutureNil, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.mu.stage {
	case cancelled:
		if err := contextError(t.ctx); err != nil {
			return nil, err
		}
		return nil, kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	case committing, committed, failed:
		return nil, kv.NewError(kv.CodeUsedDuringCommit, "the transaction is committing or committed", nil)
	}
	t.mu.stage = committing
	if t.conflicting.Load() {
		t.mu.stamp = t.tr.GetVersionstamp()
	}
	return t.tr.Commit(), nil
}

func (t *transaction) CommittedVersion() (int64, error) {
	if err := t.committedOr(); err != nil {
		return -1, err
	}
	v, err := t.tr.GetCommittedVersion()
	return v, convert(t.ctx, err)
}

func (t *transaction) Versionstamp() (v kv.Versionstamp, err error) {
	if err := t.committedOr(); err != nil {
		return v, err
	}
	t.mu.Lock()
	future := t.mu.stamp
	t.mu.Unlock()
	if future == nil {
		return v, kv.NewError(kv.CodeClientInvalid, "no versionstamp: nothing was committed", nil)
	}
	stamp, err := future.Get()
	copy(v[:], stamp)
	return v, convert(t.ctx, err)
}

// committedOr returns nil after a successful commit, otherwise an error.
func (t *transaction) committedOr() error {
	if err := t.err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.stage != committed {
		return kv.NewError(kv.CodeClientInvalid, "the transaction is not committed", nil)
	}
	return nil
}

func (t *txWrites) Wrote() bool { return t.wrote.Load() }

func (t *txWrites) Size() int { return int(t.size.Load()) }

func (t *transaction) Cancel() {
	if t.unhook == nil {
		return
	}
	t.unhook()
	t.end()
	t.engine.forget(t)
}

// end fails everything pending. After a commit only watches are pending, and they continue.
func (t *transaction) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.stage == committed {
		return
	}
	if t.mu.stage == active {
		t.mu.stage = cancelled
	}
	t.tr.Cancel()
	t.cancelWatches()
}

// cancelWatches cancels the watches that have not ended. Called with mu locked.
func (t *transaction) cancelWatches() {
	for _, w := range t.mu.watches {
		w.Cancel()
	}
	t.mu.watches = nil
}

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

// transaction wraps the client's, which is safe for concurrent use itself.
//
// It is made of parts, each of which stands on the one before and has its own state: its reads (txReads), its writes
// (txWrites), and how it ends.
type transaction struct {
	txWrites
	unhook func() bool // takes end from the context; nil where the transaction could not be made

	mu struct {
		sync.Mutex
		stage stage
		stamp fdb.FutureKey // asked for with the commit, as the client wants it
		// watches of a transaction that has not committed: they end with it.
		watches []*watch
	}
}

// txReads is the client's transaction, and reads from it.
type txReads struct {
	engine *engine
	ctx    context.Context
	began  time.Time
	tr     fdb.Transaction

	// refused is the first failure that the client does not know of; it answers everything.
	refused atomic.Pointer[error]
}

// txWrites is what a transaction has written so far.
type txWrites struct {
	txReads
	// wrote and conflicting are set by writes, and by write conflicts or writes.
	wrote, conflicting atomic.Bool
	size               atomic.Int64
}

// stage of a transaction's life.
type stage int

const (
	active stage = iota
	committing
	committed
	failed    // by its commit
	cancelled // by Cancel, the context or Close
)

// refuse makes a transaction that only fails.
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

// age is how long the transaction has lived, by which the client ends it.
func (t *txReads) age() time.Duration { return time.Since(t.began) }

// convert is an error of something that was asked for when the transaction had a certain age. Where that was past the
// time for which a version can be read, or past half of the client's time limit, so that the cluster did not have the
// other half to answer, the limit says nothing of the cluster: the transaction is too old, as it would have been told
// without the limit.
func (t *txReads) convert(err error, age time.Duration) error {
	err = convert(t.ctx, err)
	if age > min(kv.TransactionSeconds*time.Second, t.engine.o.Timeout/2) && kv.IsCode(err, kv.CodeUnreachable) {
		return kv.NewError(kv.CodeTooOld, "the transaction is too old", nil)
	}
	return err
}

func (t *txReads) Snapshot() kv.Reader { return snapshot{t} }

// MakesRoom implements kv.Transaction. The cluster's ratekeeper looks after its disks.
func (t *txWrites) MakesRoom() {}

func (t *txWrites) CausalReadRisky() {
	if t.err() == nil {
		t.note(t.tr.Options().SetCausalReadRisky())
	}
}

// SetReadVersion reports a second one, or one after a read, through later reads: the client defers the error.
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

// Commit of a transaction that is cancelled while its commit is under way may have happened: the client does not say
// so, this method does.
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
		return nil, kv.NewError(kv.CodeUsedDuringCommit, "the transaction is being committed or was", nil)
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

// committedOr is nil after a successful commit.
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

// end fails what is pending. After a commit nothing is, but watches, and they live on.
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

// cancelWatches is called with mu locked. A watch that has its error keeps it.
func (t *transaction) cancelWatches() {
	for _, w := range t.mu.watches {
		w.Cancel()
	}
	t.mu.watches = nil
}

package txn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

// txLife is the state of a transaction: whether it can continue.
type txLife struct {
	p   *Parts
	ctx context.Context

	// ended is set when the transaction can no longer be used; iterators check it without the lock.
	ended atomic.Bool

	mu sync.Mutex // guards the fields marked "Guarded by mu" in all parts

	// Guarded by mu.

	state   txState
	illegal error // the first illegal call; every later read and Commit reports it
	size    int   // counted against kv.MaxTransactionSize
}

// usable reports why the transaction cannot continue, or nil. Called with mu locked.
func (t *txLife) usable() error {
	switch t.state {
	case txCancelled:
		return failure.ErrCancelled
	case txCommitting, txCommitted, txFailed:
		return errUsedCommit
	}
	if t.p.Store.Closing.Load() {
		return failure.ErrClosed
	}
	if err := failure.OfContext(t.ctx); err != nil {
		return err
	}
	return t.illegal
}

// refuse records the first illegal call. Called with mu locked.
func (t *txLife) refuse(err error) {
	if t.illegal == nil && t.state == txActive {
		t.illegal = err
	}
}

// writable prepares a write of size bytes. If it returns false, the write must be skipped. Called with mu locked.
func (t *txLife) writable(size int) bool {
	if t.illegal != nil || t.state != txActive {
		return false
	}
	if t.size += size; t.size > kv.MaxTransactionSize {
		t.illegal = errTxTooLarge // checked now, so that a runaway transaction stops growing
		return false
	}
	return true
}

func (t *txLife) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// txVersion is the version that a transaction reads.
type txVersion struct {
	txLife

	// Guarded by mu.

	// view is the version being read, from the first read until the commit begins, the transaction ends or its time
	// limit passes.
	view        *versions.View
	since       time.Time
	expired     bool
	wantVersion int64 // from SetReadVersion, or -1
}

// readable is usable and also fixes the read version. Called with mu locked.
func (t *txVersion) readable() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.view == nil && !t.expired {
		if err := t.acquire(); err != nil {
			return err
		}
	}
	if !t.expired && time.Since(t.since) > t.p.Views.Limit {
		t.releaseView()
		t.expired = true
	}
	if t.expired {
		return failure.ErrTooOld
	}
	return nil
}

func (t *txVersion) acquire() (err error) {
	t.since = time.Now()
	if t.wantVersion >= 0 {
		t.view, err = t.p.Views.AcquireAt(t.wantVersion)
	} else {
		t.view, err = t.p.Views.Acquire()
	}
	return err
}

func (t *txVersion) releaseView() {
	if t.view != nil {
		t.p.Views.Release(t.view)
		t.view = nil
	}
}

func (t *txVersion) SetReadVersion(version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.view != nil || t.expired || t.wantVersion >= 0:
		t.refuse(errVersionSet)
	case version < 0:
		t.refuse(kv.NewError(kv.CodeClientInvalid, "the read version is negative", nil))
	default:
		t.wantVersion = version
	}
}

// CausalReadRisky has no effect: this engine always knows the newest version.
func (t *txVersion) CausalReadRisky() {}

func (t *txVersion) ReadVersion() kv.Future[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return &future[int64]{err: err}
	}
	return &future[int64]{value: t.view.Version}
}

// finish ends reading and sets the state. Called with mu locked.
func (t *txVersion) finish(s txState) {
	t.state = s
	t.ended.Store(true)
	t.releaseView()
}

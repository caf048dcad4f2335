package txn

import (
	"context"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/commit"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
	"github.com/divandb/divan/layer/kv/embedded/internal/watch"
)

// transaction implements kv.Transaction. Reads run when they are issued, on the caller's goroutine: the store is in
// this process, and a goroutine per read would cost more than most reads.
//
// It consists of embedded parts, each built on the one before and with its own state: its life (txLife), the version
// it reads (txVersion), its writes (txWrites), its reads, which see the writes (txReads), and its watches
// (txWatches). One lock guards all parts, and all are one allocation. Commit is a method of the transaction itself.
type transaction struct {
	txWatches

	// Guarded by mu.

	committed int64
	stamp     kv.Versionstamp
}

// Parts are the parts of an engine that transactions use.
type Parts struct {
	Store     *store.Store
	Views     *versions.Views
	Iterators *versions.Iterators
	Watches   *watch.Watches
	Commits   *commit.Committer
	Space     *room.Space
	ReadOnly  bool
}

// Begin begins a transaction.
func (p *Parts) Begin(ctx context.Context) kv.Transaction {
	t := &transaction{committed: -1}
	t.p, t.ctx, t.wantVersion = p, ctx, -1
	return t
}

type txState uint8

const (
	txActive txState = iota
	txCommitting
	txCommitted
	txFailed // by its commit
	txCancelled
)

var (
	errUsedCommit = kv.NewError(kv.CodeUsedDuringCommit, "the transaction is committing or committed", nil)
	errTxTooLarge = kv.NewError(kv.CodeTransactionTooLarge, "the transaction is too large", nil)
	errOffset     = kv.NewError(kv.CodeClientInvalid, "the versionstamp's offset is outside the key or value", nil)
	errAtomic     = kv.NewError(kv.CodeClientInvalid, "no such atomic operation", nil)
	errVersionSet = kv.NewError(kv.CodeClientInvalid, "the read version is already set", nil)
	errNotYet     = kv.NewError(kv.CodeClientInvalid, "the transaction is not committed", nil)
	errNoStamp    = kv.NewError(kv.CodeClientInvalid, "the transaction wrote nothing and has no versionstamp", nil)
)

func (t *transaction) Cancel() {
	t.mu.Lock()
	if t.state == txActive {
		t.state = txCancelled
	}
	t.ended.Store(true)
	t.releaseView()
	unarmed := t.watches
	t.watches = nil
	t.mu.Unlock()
	for _, w := range unarmed {
		w.Finish(failure.ErrCancelled)
	}
}

func (t *transaction) CommittedVersion() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != txCommitted {
		return 0, errNotYet
	}
	return t.committed, nil
}

func (t *transaction) Versionstamp() (kv.Versionstamp, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state != txCommitted:
		return kv.Versionstamp{}, errNotYet
	case t.committed < 0:
		return kv.Versionstamp{}, errNoStamp
	}
	return t.stamp, nil
}

package layer

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/kv"
)

// PinOptions are the options of Store.Pin.
type PinOptions struct {
	// Moves lets answers continue at a later moment instead of failing, if the engine cannot hold a snapshot for as
	// long as they take. They then read one transaction after another, as answers over HTTP do.
	Moves bool
}

// Pin returns a Store that reads the current state, while s itself may change. The caller should release it soon: until
// then, the engine keeps what is overwritten and deleted. An engine without snapshots keeps it for at most
// kv.TransactionSeconds; SnapshotLost is true for errors after that. Indexes are read in their current state and not
// brought up to date.
func (s *Store) Pin(ctx context.Context, po PinOptions) (pinned *Store, release func(), err error) {
	p, err := kv.Pin(ctx, s.Engine)
	if err != nil {
		return nil, nil, db.Explain(err)
	}
	o, e := s.o, kv.Engine(p)
	if po.Moves {
		e = p.Moving()
	}
	o.ReadOnly, o.Owner = true, false
	pinned = newStore(e, o)
	// What is kept of a revision of a design document, and of its functions, is the same for all moments. The format
	// has been read when s was opened.
	pinned.fillSlots(design.StateOf(s.Store), query.StateOf(s.Store))
	pinned.stop = func() {}
	pinned.AtMoment(s.Store, p.Version())
	return pinned, func() { _ = e.Close() }, nil
}

// SnapshotLost reports whether a read of a pinned store failed because its snapshot is no longer held.
func SnapshotLost(err error) bool { return errors.Is(err, kv.ErrSnapshotLost) }

// Begin begins a transaction that writes to d, for a user, and that reads at, the same database of a Store from Pin.
// The caller releases that Store after the transaction has ended. It returns NotImplemented if at may move to a later
// moment (PinOptions.Moves).
func (d *Database) Begin(at *Database, user *UserCtx) (*Transaction, error) {
	p, ok := at.Store.Engine.(*kv.Pinned)
	if !ok {
		return nil, fault.Errf(fault.NotImplemented, "", "the snapshot is not of one version")
	}
	return d.NewTransaction(at.Database, p.Version(), user), nil
}

// Errors of Transaction.Commit.
var (
	ErrMoved  = write.ErrMoved
	ErrTooOld = write.ErrTooOld
)

// CommitUnknown reports whether a transaction that failed may have been committed, because the store could not be
// asked.
func CommitUnknown(err error) bool { return kv.MaybeCommitted(err) }

// Repeat calls f until that is not to be called again, with the pauses of transactions that are tried again. It returns
// the last error. If ctx ends during a pause, the error is its cause.
func Repeat(ctx context.Context, f func() (again bool, err error)) error {
	again := false
	err := kv.Repeat(ctx, func(int) (bool, time.Duration, error) {
		var err error
		again, err = f()
		return again, kv.MaxBackoff, err
	})
	if again {
		return context.Cause(ctx)
	}
	return err
}

package layer

import (
	"context"
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// PinOptions of Store.Pin.
type PinOptions struct {
	// Moves says that answers rather go on at a later moment than fail where the engine cannot hold one for as long as
	// they take. They then read page after page, as answers over HTTP do.
	Moves bool
}

// Pin opens the store as it is now, to be read from while the store itself goes on: everything that is read of it is of
// one moment. The caller releases it soon: until then the engine keeps what is overwritten and deleted meanwhile. An
// engine that holds no snapshots keeps it for kv.TransactionSeconds at most, and of later errors SnapshotLost is true.
// Indexes are as they stand; nothing is brought up to date.
func (s *Store) Pin(ctx context.Context, po PinOptions) (pinned *Store, release func(), err error) {
	p, err := kv.Pin(ctx, s.Engine)
	if err != nil {
		return nil, nil, db.Explained(err)
	}
	o, e := s.o, kv.Engine(p)
	if po.Moves {
		e = p.Moving()
	}
	o.ReadOnly, o.Owner = true, false
	if pinned, err = Open(ctx, e, o); err != nil {
		_ = e.Close()
		return nil, nil, db.Explained(err)
	}
	return pinned, func() { _ = e.Close() }, nil
}

// SnapshotLost reports whether a read of a pinned store failed because its moment is held no more.
func SnapshotLost(err error) bool { return errors.Is(err, kv.ErrSnapshotLost) }

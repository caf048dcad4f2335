package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

// Pin opens the store as it is now, to be read from while the store itself goes on: everything that is read of it is of
// one moment. ok is false where the engine cannot hold a moment for as long as that takes. The caller closes it soon:
// until then the engine keeps what is overwritten and deleted meanwhile. Indexes are as they stand; nothing is brought
// up to date.
func (s *Store) Pin(ctx context.Context) (pinned *Store, release func(), ok bool, err error) {
	e, ok, err := kv.Pin(ctx, s.engine)
	if !ok || err != nil {
		return nil, nil, false, explained(err)
	}
	o := s.o
	o.ReadOnly, o.Owner = true, false
	if pinned, err = Open(ctx, e, o); err != nil {
		_ = e.Close()
		return nil, nil, false, explained(err)
	}
	return pinned, func() { _ = e.Close() }, true, nil
}

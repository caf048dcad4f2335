package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

// storeTransact is transact for what belongs to no database.
func storeTransact[T any](ctx context.Context, s *dbStore,
	fn func(tx kv.Transaction) (T, error)) (T, kv.Committed, error) {
	return storeTransactWith(ctx, s, kv.TransactOptions{}, fn)
}

func storeTransactWith[T any](ctx context.Context, s *dbStore, o kv.TransactOptions,
	fn func(tx kv.Transaction) (T, error)) (T, kv.Committed, error) {
	o.TransactionID = s.ids.next()
	r, c, err := kv.Transact(ctx, s.engine, o, fn)
	s.clock.saw(c.Version)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		s.ids.done(o.TransactionID)
	}
	return r, c, explained(err)
}

package db

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

// StoreTransact is Transact for data that belongs to no database.
func StoreTransact[T any](ctx context.Context, s *Store,
	fn func(tx kv.Transaction) (T, error)) (T, kv.Committed, error) {
	return storeTransactWith(ctx, s, kv.TransactOptions{}, fn)
}

func storeTransactWith[T any](ctx context.Context, s *Store, o kv.TransactOptions,
	fn func(tx kv.Transaction) (T, error)) (T, kv.Committed, error) {
	o.TransactionID = s.Ids.next()
	r, c, err := kv.Transact(ctx, s.Engine, o, fn)
	s.Clock.Saw(c.Version)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		s.Ids.done(o.TransactionID)
	}
	return r, c, Explain(err)
}

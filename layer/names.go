package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// NamesOptions as _all_dbs has them.
type NamesOptions struct {
	Start, End  string // inclusive; empty is open
	ExcludeEnd  bool
	Descending  bool
	Limit, Skip int // Limit < 0 is none
}

// Names streams the names of all databases in byte order from Start to End; with Descending from the higher Start down.
func (s *dbStore) Names(ctx context.Context, o NamesOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if o.Limit == 0 {
			return
		}
		prefix := s.section(keyspace.Databases)
		bounds := idRange(prefix, idBounds{start: textOrNil(o.Start), end: textOrNil(o.End), excludeEnd: o.ExcludeEnd, descending: o.Descending})
		skip, left := o.Skip, o.Limit
		err := scan(ctx, s.engine, bounds, o.Descending, func(row kv.KeyValue) (bool, error) {
			name, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return false, corrupt("database name", err)
			}
			if skip > 0 {
				skip--
				return true, nil
			}
			left--
			return yield(name, nil) && left != 0, nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// WatchNames becomes ready when a database is created or deleted (_db_updates, SQL catalogue caches).
func (s *dbStore) WatchNames(ctx context.Context) (kv.Watch, error) {
	w, _, err := kv.Transact(ctx, s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (kv.Watch, error) {
		return tx.Watch(s.section(keyspace.Databases)), nil
	})
	return w, err
}

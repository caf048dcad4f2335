package db

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// NamesOptions are the options of _all_dbs.
type NamesOptions struct {
	Start, End  string // inclusive; no bound if empty
	ExcludeEnd  bool
	Descending  bool
	Limit, Skip int // no limit if Limit < 0
}

// Names streams the names of all databases in byte order from Start to End. With Descending, Start is the higher one.
func (s *Store) Names(ctx context.Context, o NamesOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if o.Limit == 0 {
			return
		}
		prefix := s.Section(keyspace.Databases)
		bounds := IdRange(prefix,
			IdBounds{Start: textOrNil(o.Start), End: textOrNil(o.End), ExcludeEnd: o.ExcludeEnd,
				Descending: o.Descending})
		skip, left := o.Skip, o.Limit
		err := Scan(ctx, s.Engine, bounds, o.Descending, func(row kv.KeyValue) (bool, error) {
			name, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return false, Corrupt("database name", err)
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

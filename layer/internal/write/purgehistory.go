package write

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// PurgeInfo is one purge in the purge history.
type PurgeInfo struct {
	ID   string
	Revs []db.Rev
}

// PurgesLimit returns how many purges Compact keeps in the history, 1000 by default.
func (d Database) PurgesLimit(ctx context.Context) (int, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (int, error) { return t.Cfg.PurgesLimit, nil })
}

// SetPurgesLimit sets the limit, which the next Compact applies. It returns Invalid unless n is positive.
func (d Database) SetPurgesLimit(ctx context.Context, n int) error {
	if n < 1 {
		return fault.Errf(fault.Invalid, "bad_request", "`purged_infos_limit` must be positive integer")
	}
	return d.SetConfig(ctx, db.ConfigPurgesLimit, tuple.AppendInt(nil, int64(n)))
}

// Purges streams the purge history, oldest first.
func (d Database) Purges(ctx context.Context) iter.Seq2[PurgeInfo, error] {
	return func(yield func(PurgeInfo, error) bool) {
		s, err := rev.OpenStream(ctx, d.Database)
		if err != nil {
			yield(PurgeInfo{}, err)
			return
		}
		defer s.Close()
		err = s.Scan(db.PrefixRange(s.Keys.Sub(nil, keyspace.Purges)), kv.RangeOptions{},
			func(row kv.KeyValue) (bool, error) {
				info, err := ParsePurgeInfo(row.Value)
				return err == nil && yield(info, nil), err
			})
		if err != nil {
			yield(PurgeInfo{}, err)
		}
	}
}

// ParsePurgeInfo decodes a purge record.
func ParsePurgeInfo(value []byte) (info PurgeInfo, err error) {
	t := db.Taker{B: value}
	info.ID = db.Take(&t, tuple.TakeString)
	revs := db.Taker{B: db.Take(&t, tuple.TakeNested), Err: t.Err}
	for revs.Err == nil && len(revs.B) > 0 {
		info.Revs = append(info.Revs, db.Take(&revs, db.TakeRev))
	}
	if revs.Err != nil {
		return info, db.Corrupt("purge history", revs.Err)
	}
	return info, nil
}

package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// PurgeInfo is one purge that the database remembers.
type PurgeInfo struct {
	ID   string
	Revs []Rev
}

// PurgesLimit is how many purges Compact leaves in the history: 1000 by default.
func (d *Database) PurgesLimit(ctx context.Context) (int, error) {
	return read(ctx, d, func(t *txn) (int, error) { return t.cfg.purgesLimit, nil })
}

// SetPurgesLimit applies from the next Compact on. Invalid unless positive.
func (d *Database) SetPurgesLimit(ctx context.Context, n int) error {
	if n < 1 {
		return errf(Invalid, "bad_request", "`purged_infos_limit` must be positive integer")
	}
	return d.setConfig(ctx, configPurgesLimit, tuple.AppendInt(nil, int64(n)))
}

// Purges lists what the database remembers of purges, the oldest first.
func (d *Database) Purges(ctx context.Context) iter.Seq2[PurgeInfo, error] {
	return func(yield func(PurgeInfo, error) bool) {
		s, err := d.openStream(ctx)
		if err != nil {
			yield(PurgeInfo{}, err)
			return
		}
		defer s.close()
		err = s.scan(prefixRange(s.keys.sub(nil, keyspace.Purges)), kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
			info, err := parsePurgeInfo(row.Value)
			return err == nil && yield(info, nil), err
		})
		if err != nil {
			yield(PurgeInfo{}, err)
		}
	}
}

func parsePurgeInfo(value []byte) (info PurgeInfo, err error) {
	t := taker{b: value}
	info.ID = take(&t, tuple.TakeString)
	revs := taker{b: take(&t, tuple.TakeNested), err: t.err}
	for revs.err == nil && len(revs.b) > 0 {
		info.Revs = append(info.Revs, take(&revs, takeRev))
	}
	if revs.err != nil {
		return info, corrupt("purge history", revs.err)
	}
	return info, nil
}

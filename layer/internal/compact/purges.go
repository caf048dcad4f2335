package compact

import (
	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// dropPurges removes up to most of the oldest purges beyond the limit from the history, but none that an index
// has not applied yet.
func dropPurges(t *db.Txn, most int) (n int, more bool, err error) {
	t.MakesRoom()
	counts, err := db.CountersOf(t, t.Keys, db.CounterPurges, db.CounterPurgesDropped)
	if err != nil {
		return 0, false, err
	}
	over := counts[0] - counts[1] - int64(t.Cfg.PurgesLimit)
	if over <= 0 {
		return 0, false, nil
	}
	seen, err := purgesSeen(t)
	if err != nil {
		return 0, false, err
	}
	limit := int(min(over, int64(most)))
	rows := t.GetRange(seen, kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
	defer rows.Close()
	for rows.Next() {
		t.Clear(append([]byte(nil), rows.KeyValue().Key...))
		n++
	}
	t.Count(db.CounterPurgesDropped, int64(n))
	t.Forgotten += int64(n)
	return n, n == most, rows.Err()
}

// purgesSeen returns the part of the history that all indexes have applied. It is empty while an index is being built.
func purgesSeen(t *db.Txn) (kv.KeyRange, error) {
	seen := db.PrefixRange(t.Keys.Sub(nil, keyspace.Purges))
	none := kv.KeyRange{Begin: seen.Begin, End: seen.Begin}
	k := index.NewKeys(t.Keys.Sub(nil, keyspace.Views), &design.Design{})
	building := db.GetRange(t, tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(keyspace.ViewStatus)),
		kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer building.Close()
	built := db.GetRange(t, tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(keyspace.ViewUpdateSeq)),
		kv.RangeOptions{Mode: kv.ModeWantAll})
	defer built.Close()
	if building.Next() {
		return none, nil
	}
	for built.Next() {
		at, err := index.ReadIndexSeq(built.KeyValue().Value)
		if err != nil {
			return none, err
		}
		if at.Seq.IsZero() {
			return none, nil
		}
		if r := build.PurgeRange(t.Keys, t.Cfg.Incarnation, db.Seq{}, at.Seq); string(r.End) < string(seen.End) {
			seen.End = r.End
		}
	}
	if err := building.Err(); err != nil {
		return none, err
	}
	return seen, built.Err()
}

package index

import (
	"encoding/binary"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/kv"
)

// ageOfOldest returns the age, by the store's clock, of the oldest change after since, up to last. It is 0 if since is
// zero, if there is none, or if it was made in another store, whose clock this one does not know.
func ageOfOldest(t *db.Txn, since, last db.Seq) (time.Duration, error) {
	if since.IsZero() || since.Compare(last) >= 0 {
		return 0, nil
	}
	r := t.Snapshot()
	now := r.ReadVersion()
	shards := db.ShardsSince(t.Cfg, since)
	heads := make([]kv.RangeIterator, len(shards))
	for i, shard := range shards { // all at once
		heads[i] = r.GetRange(feed.EntryRange(t.Keys, shard, since, last),
			kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer heads[i].Close()
	}
	oldest := last // its entry has moved if its document has changed in the meantime
	for i, shard := range shards {
		if heads[i].Next() {
			var e feed.Entry
			row := heads[i].KeyValue()
			if err := feed.ParseEntry(&e, row.Key[len(t.Keys.Feed(nil, shard)):], row.Value); err != nil {
				return 0, err
			}
			if e.Seq.Compare(oldest) < 0 {
				oldest = e.Seq
			}
		}
		if err := heads[i].Err(); err != nil {
			return 0, err
		}
	}
	at, err := now.Wait()
	if err != nil || oldest.Incarnation != t.Cfg.Incarnation {
		return 0, err
	}
	version := int64(binary.BigEndian.Uint64(oldest.Stamp[:]))
	return max(0, db.Passing(t.Db.Store.Clock.At(at)-version)), nil
}

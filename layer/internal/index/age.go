package index

import (
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
)

// ageOfOldest returns the age, by the store's clock, of the oldest change after since, up to last. It is 0 if since is
// zero, if there is none, or if it was made in another store, whose clock this one does not know.
func ageOfOldest(t *db.Txn, since, last db.Seq) (time.Duration, error) {
	if since.IsZero() || since.Compare(last) >= 0 {
		return 0, nil
	}
	r := t.Snapshot()
	now := r.ReadVersion()
	oldest, err := feed.First(r, t.Keys, db.ShardsSince(t.Cfg, since), since, last)
	if err != nil || oldest.Incarnation != t.Cfg.Incarnation {
		return 0, err
	}
	at, err := now.Wait()
	return max(0, db.Passing(t.Db.Store.Clock.At(at)-oldest.Version())), err
}

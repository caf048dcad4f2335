package feeds

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Shortage is a lack of watches: the store refuses those beyond its limit. It is safe for concurrent use.
type Shortage struct{ last atomic.Pointer[time.Time] }

// shortageLasts is how long a refusal counts. A shard that was refused asks again within maxPause.
const shortageLasts = 5 * maxPause

// note records that a watch ended with err at a time.
func (s *Shortage) note(err error, at time.Time) {
	var e *kv.Error
	if errors.As(err, &e) && e.Code == kv.CodeTooManyWatches {
		s.last.Store(&at)
	}
}

// is reports whether watches are refused.
func (s *Shortage) is(now time.Time) bool {
	last := s.last.Load()
	return last != nil && now.Sub(*last) < shortageLasts
}

// Degraded returns that there are shards that cannot be watched, if so. It does no I/O.
func (s *Shortage) Degraded(now time.Time) []string {
	if !s.is(now) {
		return nil
	}
	return []string{"too_many_watches: the store watches no more changes shards for this node, so the listeners of " +
		"some learn of changes up to a second late. End feeds, or give databases fewer changes shards."}
}

package feed

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// noteTotal reads how many entries the whole feed has, one for each document, at the version of a pass that began at
// one end of the feed and did not reach the other. If it read several versions, entries may have come in front of those
// that a descending pass has read, or been moved there from those behind: then it is not known how many are left.
func (f *Feed) noteTotal() error {
	f.total = -1
	if f.O.Shard != "" || !f.O.Until.IsZero() || !f.O.Since.IsZero() ||
		f.O.Descending && (f.S.Exact() != f.exact || f.S.Turn != f.turn) {
		return nil
	}
	n, err := db.CountersOf(f.S.R, f.S.Keys, db.CounterDocs, db.CounterDeleted)
	switch {
	case err == nil:
		f.total = n[0] + n[1]
	case f.S.Exact() || !kv.Retryable(err):
		return err
	}
	return nil // pending counts the entries later
}

// pending counts the entries after those that the pass has read.
func (f *Feed) pending(ctx context.Context) (int64, error) {
	if !f.cut {
		return 0, nil
	}
	if f.total >= 0 {
		return max(0, f.total-f.passed), nil
	}
	s, err := rev.OpenStream(ctx, f.S.D)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if f.O.Shard == "" && !f.O.Descending && f.O.Until.IsZero() {
		return countFeed(s, f.Last)
	}
	since, until := f.Last, f.O.Until
	if f.O.Descending {
		since, until = f.O.Since, before(f.Last)
		if f.scanned == 0 {
			until = f.O.Until
		}
	}
	if f.O.Shard != "" {
		return countSpans(s, []feedSpan{{f.O.Shard, since, until}})
	}
	spans := spansBehind(s.Cfg, since)
	for i := range spans {
		spans[i].until = until
	}
	return countSpans(s, spans)
}

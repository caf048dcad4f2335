package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

// noteTotal reads, at the version of a pass from the beginning that was cut, how many entries the whole feed has: one
// for each document.
func (f *feed) noteTotal() error {
	f.total = -1
	if f.o.Shard != "" || f.o.Descending || !f.o.Until.IsZero() || !f.o.Since.IsZero() {
		return nil
	}
	n, err := countersOf(f.s.r, f.s.keys, counterDocs, counterDeleted)
	switch {
	case err == nil:
		f.total = n[0] + n[1]
	case f.s.exact() || !kv.Retryable(err):
		return err
	}
	return nil // counted by pending
}

// pending counts what a cut pass left behind.
func (f *feed) pending(ctx context.Context) (int64, error) {
	if !f.cut {
		return 0, nil
	}
	if f.total >= 0 {
		return max(0, f.total-f.passed), nil
	}
	s, err := f.s.d.openStream(ctx)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if f.o.Shard == "" && !f.o.Descending && f.o.Until.IsZero() {
		return s.countFeed(f.last)
	}
	since, until := f.last, f.o.Until
	if f.o.Descending {
		since, until = f.o.Since, before(f.last)
		if f.scanned == 0 {
			until = f.o.Until
		}
	}
	if f.o.Shard != "" {
		return s.countSpans([]feedSpan{{f.o.Shard, since, until}})
	}
	spans := s.cfg.spansBehind(since)
	for i := range spans {
		spans[i].until = until
	}
	return s.countSpans(spans)
}

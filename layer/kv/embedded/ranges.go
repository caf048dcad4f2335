package embedded

import (
	"github.com/divandb/divan/layer/kv"
)

var (
	_ kv.RangesReader = (*longSnapshot)(nil)
	_ kv.RangesReader = snapshotReads{}
)

// GetRanges implements kv.RangesReader.
func (s *longSnapshot) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	if err := s.BeginRead(); err != nil {
		return failed(err), true
	}
	defer s.EndRead()
	return startRanges(&rangeIterator{owner: s, open: s.p.iterators, conflict: -1}, s.view, ranges), true
}

// GetRanges implements kv.RangesReader, for a transaction that has not written yet. What it writes while the rows are
// read is not seen.
func (s snapshotReads) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return failed(err), true
	}
	if t.wrote {
		return nil, false
	}
	it := &rangeIterator{owner: t, open: t.p.iterators, conflict: -1, expires: t.since.Add(t.p.views.limit), ended: &t.ended}
	return startRanges(it, t.view, ranges), true
}

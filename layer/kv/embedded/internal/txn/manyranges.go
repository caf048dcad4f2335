package txn

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

var (
	_ kv.RangesReader = (*longSnapshot)(nil)
	_ kv.RangesReader = snapshotReads{}
)

// GetRanges implements kv.RangesReader.
func (s *longSnapshot) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	if err := s.BeginRead(); err != nil {
		return versions.Failed(err), true
	}
	defer s.EndRead()
	return versions.StartRanges(&versions.RangeIterator{Owner: s, Open: s.p.Iterators, Conflict: -1}, s.view,
		ranges), true
}

// GetRanges implements kv.RangesReader for a transaction that has not written yet. Writes made while the rows are
// read are not seen.
func (s snapshotReads) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return versions.Failed(err), true
	}
	if t.wrote {
		return nil, false
	}
	it := &versions.RangeIterator{Owner: t, Open: t.p.Iterators, Conflict: -1, Expires: t.since.Add(t.p.Views.Limit),
		Ended: &t.ended}
	return versions.StartRanges(it, t.view, ranges), true
}

package txn

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

func (t *txReads) getRange(r kv.Range, o kv.RangeOptions, snapshot bool) kv.RangeIterator {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return versions.Failed(err)
	}
	s, err := t.bounds(r, snapshot)
	if err != nil || s.Empty() {
		return versions.Failed(err)
	}
	it := &versions.RangeIterator{Owner: t, Open: t.p.Iterators, R: s, Conflict: -1,
		Expires: t.since.Add(t.p.Views.Limit), Ended: &t.ended}
	if !snapshot && !t.clearedWhole(s) && !t.unread {
		it.Conflict = len(t.reads)
		t.reads = append(t.reads, keys.Span{Begin: s.Begin, End: s.Begin}) // extended by Covered
	}
	versions.StartRange(it, t.view, &t.writes, o, t.writes.Share)
	return it
}

// clearedWhole reports whether the transaction has cleared all of s, so that the read depends on nothing in the
// store.
func (t *txReads) clearedWhole(s keys.Span) bool {
	own, ok := t.writes.Cleared.Find(s.Begin)
	return ok && keys.CompareEnds(s, own) <= 0
}

// bounds resolves a range's selectors. Called with mu locked.
func (t *txReads) bounds(r kv.Range, snapshot bool) (keys.Span, error) {
	begin, end := r.Selectors()
	return versions.BoundsOf(begin, end, func(sel kv.KeySelector) ([]byte, error) { return t.selectKey(sel, snapshot) })
}

// BeginRead implements versions' readOwner.
func (t *txReads) BeginRead() error {
	t.mu.Lock()
	if err := t.readable(); err != nil {
		t.mu.Unlock()
		return err
	}
	return nil
}

// EndRead implements versions' readOwner.
func (t *txReads) EndRead() { t.mu.Unlock() }

// Covered implements versions' readOwner: the read conflict grows with each batch.
func (t *txReads) Covered(it *versions.RangeIterator, s keys.Span) {
	if it.Conflict < 0 || t.unread {
		return
	}
	c := &t.reads[it.Conflict]
	if it.Reverse {
		t.size += len(s.Begin) - len(c.Begin)
		c.Begin, c.End = t.readMem.Copy(s.Begin), it.R.End
	} else {
		t.size += len(s.End) - len(c.End)
		c.End = t.readMem.CopyValue(s.End)
	}
}

// Stopped implements versions' readOwner: rows that were fetched but not looked at are removed from the read
// conflict.
func (t *txReads) Stopped(it *versions.RangeIterator, s keys.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == txActive {
		t.Covered(it, s)
	}
}

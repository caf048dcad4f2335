package embedded

import "github.com/divandb/divan/layer/kv"

func (t *txReads) getRange(r kv.Range, o kv.RangeOptions, snapshot bool) kv.RangeIterator {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return failed(err)
	}
	s, err := t.bounds(r, snapshot)
	if err != nil || s.empty() {
		return failed(err)
	}
	it := &rangeIterator{owner: t, open: t.p.iterators, r: s, conflict: -1, expires: t.since.Add(t.p.views.limit), ended: &t.ended}
	if !snapshot && !t.clearedWhole(s) && !t.unread {
		it.conflict = len(t.reads)
		t.reads = append(t.reads, span{begin: s.begin, end: s.begin}) // grows in read
	}
	startRange(it, t.view, &t.writes, o, t.writes.share)
	return it
}

// clearedWhole reports whether the transaction itself cleared all of s, and so reads nothing of the store there.
func (t *txReads) clearedWhole(s span) bool {
	own, ok := t.writes.cleared.find(s.begin)
	return ok && compareEnds(s, own) <= 0
}

// bounds resolves a range's selectors. Called with mu locked.
func (t *txReads) bounds(r kv.Range, snapshot bool) (span, error) {
	begin, end := r.Selectors()
	return boundsOf(begin, end, func(sel kv.KeySelector) ([]byte, error) { return t.selectKey(sel, snapshot) })
}

// BeginRead implements the owner of a range read.
func (t *txReads) BeginRead() error {
	t.mu.Lock()
	if err := t.readable(); err != nil {
		t.mu.Unlock()
		return err
	}
	return nil
}

// EndRead implements the owner of a range read.
func (t *txReads) EndRead() { t.mu.Unlock() }

// Covered implements the owner of a range read: the conflict grows with the batch.
func (t *txReads) Covered(it *rangeIterator, s span) {
	if it.conflict < 0 || t.unread {
		return
	}
	c := &t.reads[it.conflict]
	if it.reverse {
		t.size += len(s.begin) - len(c.begin)
		c.begin, c.end = t.readMem.copy(s.begin), it.r.end
	} else {
		t.size += len(s.end) - len(c.end)
		c.end = t.readMem.copyValue(s.end)
	}
}

// Stopped implements the owner of a range read: rows that were fetched and not looked at are no conflict.
func (t *txReads) Stopped(it *rangeIterator, s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == txActive {
		t.Covered(it, s)
	}
}

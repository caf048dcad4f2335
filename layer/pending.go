package layer

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// noteTotal reads, at the version of a pass that was cut, how many entries the whole feed has: one for each document.
func (f *feed) noteTotal() error {
	f.total = -1
	if f.o.Shard != "" || f.o.Descending || !f.o.Until.IsZero() {
		return nil
	}
	total, at, err := f.s.countEntries()
	if err != nil {
		if f.s.exact() || !kv.Retryable(err) {
			return err
		}
		return nil // counted by pending
	}
	counts := &f.s.core.counts
	before, known := int64(0), f.o.Since.IsZero()
	if !known {
		before, known = counts.find(f.o.Since, at)
	}
	if known {
		f.total = total
		f.passed += before
		counts.add(f.last, at, f.passed)
	}
	return nil
}

// countEntries is how many entries the feed has, and the state of the database that this is true of.
func (s *stream) countEntries() (total int64, at countedAt, err error) {
	newest := readLastSeq(s.r, s.keys, s.cfg)
	n, err := countersOf(s.r, s.keys, counterDocs, counterDeleted, counterPurges)
	if err != nil {
		return 0, at, err
	}
	at.purges = n[2]
	at.newest, err = newest()
	return n[0] + n[1], at, err
}

// pending counts what a cut pass left behind. A client that pages through the feed of a database that is not written meanwhile
// gets the answer without a scan: the counts at the ends of earlier passes are remembered.
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
	since, until := f.last, f.o.Until
	if f.o.Descending {
		since, until = f.o.Since, before(f.last)
		if f.scanned == 0 {
			until = f.o.Until
		}
	}
	var n int64
	count := func(shard ShardID) error {
		return s.scan(entryRange(s.keys, shard, since, until), kv.RangeOptions{Mode: kv.ModeWantAll}, func(kv.KeyValue) (bool, error) {
			n++
			return true, nil
		})
	}
	if f.o.Shard != "" {
		return n, count(f.o.Shard)
	}
	for _, m := range s.cfg.mapsFrom(since) {
		for _, id := range m.subspaces() {
			if err := count(id); err != nil {
				return n, err
			}
		}
	}
	if total, at, err := s.countEntries(); err == nil && s.exact() && !f.o.Descending && until.IsZero() {
		s.core.counts.add(f.last, at, total-n)
	}
	return n, nil
}

// countedAt is a state of a database: nothing enters or leaves its feed without changing it.
type countedAt struct {
	newest Seq
	purges int64
}

// entryCounts remembers how many entries were at or before a sequence, as long as the database stays as it is.
type entryCounts struct {
	mu struct {
		sync.Mutex
		at     countedAt
		counts map[Seq]int64
	}
}

const maxEntryCounts = 4096

func (c *entryCounts) find(seq Seq, at countedAt) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.at != at {
		return 0, false
	}
	n, ok := c.mu.counts[seq]
	return n, ok
}

func (c *entryCounts) add(seq Seq, at countedAt, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.at != at || len(c.mu.counts) >= maxEntryCounts {
		c.mu.at, c.mu.counts = at, map[Seq]int64{}
	}
	if c.mu.counts == nil {
		c.mu.counts = map[Seq]int64{}
	}
	c.mu.counts[seq] = n
}

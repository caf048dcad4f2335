package db

import "sync/atomic"

// Counts counts what was done with documents. It is safe for concurrent use.
type Counts struct{ Written, Refused, Read, Changes atomic.Int64 }

// Counted is what was counted in this process.
type Counted struct {
	Written int64 // documents written
	Refused int64 // edits refused, most of them because of a revision conflict
	Read    int64 // documents read one by one; those that were not found or could not be read do not count
	Changes int64 // rows of changes feeds
}

// Counted returns the current counts.
func (c *Counts) Counted() Counted {
	return Counted{c.Written.Load(), c.Refused.Load(), c.Read.Load(), c.Changes.Load()}
}

// Count calls add with the counts of the store and those of the database.
func (d *Database) Count(add func(*Counts)) {
	add(&d.Store.Counts)
	if c := d.Core.Load(); c != nil {
		add(&c.Counts)
	}
}

// CountWrites counts edits that were written and edits that were refused.
func (d *Database) CountWrites(written, refused int) {
	d.Count(func(c *Counts) {
		c.Written.Add(int64(written))
		c.Refused.Add(int64(refused))
	})
}

// EachCounted calls visit for each database in memory, in no order. visit must not block.
func (s *Store) EachCounted(visit func(name string, c Counted)) {
	for _, c := range s.Known.list() {
		visit(c.Name, c.Counts.Counted())
	}
}

// list returns the databases in memory.
func (s *cores) list() []*Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Core, 0, len(s.mu.all))
	for name := range s.mu.all {
		if c := s.current(name); c != nil {
			list = append(list, c)
		}
	}
	return list
}

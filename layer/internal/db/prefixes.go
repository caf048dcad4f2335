package db

import (
	"math/rand/v2"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// prefixes allocates the prefix numbers of databases. They are short and never reused, and many transactions can
// allocate them at once with few conflicts.
//
// The algorithm is that of the high-contention allocator in FoundationDB's directory layer. Numbers are drawn at random
// from a window; after half of its numbers have been used, the next window begins:
//
//	(PrefixWindows, prefixCounters, first number) = how many numbers of the window are taken, little-endian 64 bits;
//	                                                the last key is the current window
//	(PrefixWindows, prefixRecent, number)         = empty; the number is taken
//
// Counters are read at snapshot isolation and changed by atomic additions, so two transactions conflict only if they
// draw the same number, whose key they read with conflict. A transaction that saw an older window is safe too: the keys
// of its numbers are kept until no transaction can draw them.
type prefixes struct{ section []byte }

func prefixesOf(s *Store) prefixes { return prefixes{s.Section(keyspace.PrefixWindows)} }

const (
	prefixCounters = 0
	prefixRecent   = 1
)

// prefixWindow returns the size of the window that begins at first. It is small at first, so that short numbers are not
// wasted, and later large enough that busy stores seldom have collisions.
func prefixWindow(first int64) int64 {
	switch {
	case first < 255:
		return 64
	case first < 65535:
		return 1024
	}
	return 8192
}

// start starts the first read of next, so that it shares a round trip with the caller's reads.
func (p prefixes) start(tx kv.Transaction) kv.RangeIterator {
	o := kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact}
	return tx.Snapshot().GetRange(PrefixRange(p.key(prefixCounters)), o)
}

// next allocates a number.
func (p prefixes) next(tx kv.Transaction, window kv.RangeIterator) (int64, error) {
	first, taken, err := p.current(window)
	if err != nil {
		return 0, err
	}
	if 2*(taken+1) >= prefixWindow(first) {
		// The previous window stays, because running transactions may draw from it and would conflict with its
		// clearing.
		for _, part := range []int64{prefixCounters, prefixRecent} {
			tx.ClearRange(kv.KeyRange{Begin: p.key(part), End: tuple.AppendInt(p.key(part), first)})
		}
		first += prefixWindow(first)
	}
	tx.Atomic(kv.AtomicAdd, tuple.AppendInt(p.key(prefixCounters), first), LittleEndian(1))
	// At least half of the window is free.
	for {
		number := first + rand.Int64N(prefixWindow(first))
		key := tuple.AppendInt(p.key(prefixRecent), number)
		was, err := tx.Get(key).Wait()
		if err != nil {
			return 0, err
		}
		if was == nil {
			tx.Set(key, nil)
			return number, nil
		}
	}
}

// current decodes the current window. It returns zeros if there is none yet.
func (p prefixes) current(window kv.RangeIterator) (first, taken int64, err error) {
	defer window.Close()
	if !window.Next() {
		return 0, 0, window.Err()
	}
	row := window.KeyValue()
	first, _, err = tuple.TakeInt(row.Key[len(p.key(prefixCounters)):])
	if err != nil {
		return 0, 0, Corrupt("allocator of prefixes", err)
	}
	return first, CounterValue(row.Value), nil
}

func (p prefixes) key(part int64) []byte {
	return tuple.AppendInt(p.section[:len(p.section):len(p.section)], part)
}

// retiredPrefixes is where the allocator of format 1 continues in a store that has been upgraded, so that a node of
// that format that is still running takes numbers that no other node takes.
const retiredPrefixes = 1 << 40

// UpgradePrefixes makes the windows begin after the numbers that a store of format 1 has allocated.
func UpgradePrefixes(s *Store, tx kv.Transaction) error {
	old := s.Section(keyspace.DatabasePrefixes)
	next, err := tx.Get(old).Wait()
	if err != nil {
		return err
	}
	tx.Set(tuple.AppendInt(prefixesOf(s).key(prefixCounters), CounterValue(next)), LittleEndian(0))
	tx.Set(old, LittleEndian(retiredPrefixes))
	return nil
}

package db

import (
	"math/rand/v2"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// prefixes hands out the prefix numbers of databases: short, each once and never again, to any number of transactions
// at once with few conflicts.
//
// Source: the high-contention allocator of FoundationDB's directory layer. Numbers are drawn at random from a window of
// numbers, of which half are used before the next window begins:
//
//	(PrefixWindows, prefixCounters, first number) = how many of the window were taken, little-endian 64 bits; the last
//	                                                key is the current window
//	(PrefixWindows, prefixRecent, number)         = empty: taken
//
// The counters are read at snapshot isolation and added to, so two transactions conflict only where they draw the same
// number, which the read of its key finds out. A transaction that saw an older window is as safe: the numbers it may
// draw are kept until nobody can draw them.
type prefixes struct{ section []byte }

func prefixesOf(s *Store) prefixes { return prefixes{s.Section(keyspace.PrefixWindows)} }

const (
	prefixCounters = 0
	prefixRecent   = 1
)

// prefixWindow is how many numbers the window that begins at first has, by which short numbers are not left out and
// busy stores seldom collide.
func prefixWindow(first int64) int64 {
	switch {
	case first < 255:
		return 64
	case first < 65535:
		return 1024
	}
	return 8192
}

// start issues the first read of next, so that it shares a round trip with the caller's.
func (p prefixes) start(tx kv.Transaction) kv.RangeIterator {
	o := kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact}
	return tx.Snapshot().GetRange(PrefixRange(p.key(prefixCounters)), o)
}

// next takes a number that no database had and none will have if tx commits.
func (p prefixes) next(tx kv.Transaction, window kv.RangeIterator) (int64, error) {
	first, taken, err := p.current(window)
	if err != nil {
		return 0, err
	}
	if 2*(taken+1) >= prefixWindow(first) {
		// The window before the new one stays: transactions under way may draw from it, and would conflict with its
		// clearing.
		for _, part := range []int64{prefixCounters, prefixRecent} {
			tx.ClearRange(kv.KeyRange{Begin: p.key(part), End: tuple.AppendInt(p.key(part), first)})
		}
		first += prefixWindow(first)
	}
	tx.Atomic(kv.AtomicAdd, tuple.AppendInt(p.key(prefixCounters), first), LittleEndian(1))
	for { // at least half of the window is free
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

// current is the first window where there is none yet.
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

// retiredPrefixes is what the allocator of format 1 goes on from in a store that was upgraded: a node of that format
// which still runs then takes numbers that no other does.
const retiredPrefixes = 1 << 40

// UpgradePrefixes lets the windows begin behind the numbers that a store of format 1 has given away.
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

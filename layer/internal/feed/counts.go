package feed

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The number of feed entries between two sequences is known without reading them: entries are counted in blocks of
// commit versions, on three levels. A block of the lowest level, a leaf, spans 2^16 versions, about a fifteenth of a
// second. A block of a higher level spans 1024 blocks of the level below: about a minute and a day. Versions count
// microseconds on both kinds of engine. Blocks without entries have no rows, so idle time costs nothing.
//
// Each shard and incarnation has its own counts, and a mark up to which its leaves are closed:
//
//   - New entries only appear after the mark, since commits always get versions greater than any version that can be
//     read. A transaction that clears an entry, by moving or purging it, adds -1 to its block on each level, without
//     reading the mark.
//   - A closing (closing.go) counts the entries of some leaves after the mark, adds them to the blocks, compensates for
//     what was subtracted there before, and moves the mark. It too only adds, so it does not conflict with writers.
//   - Therefore the rows of closed blocks are exact at every version. Rows after the mark are not exact, and are not
//     read.
//   - A count (rank.go) adds up a few ranges of rows, and reads the entries of one leaf and of those after the mark.
//
// If a closed block of a higher level has 1024 entries or fewer, its entries are read instead of the rows below it.
// Since it never gets more entries, those rows are garbage from then on. Closings do not write such rows, and each
// closing removes some existing ones. The number of rows stays near the number of leaves that have entries.
//
// Writers only share keys with writers of the same shard: like the shard's counters, a block of a higher level gets one
// addition from every transaction that moves entries within it. Rows of leaves are many and seldom shared.
const FeedLevels = 3

// Shape is the size of blocks. Everything but tests uses DefaultShape.
type Shape struct {
	LeafBits  int   // versions of a leaf, as a power of two
	LevelBits int   // blocks in a block of the next level, as a power of two
	Sparse    int64 // maximum number of entries of a block that are read one by one
	Least     int   // minimum number of entries after a shard's mark before it is moved
}

var DefaultShape = Shape{LeafBits: 16, LevelBits: 10, Sparse: 1024, Least: 256}

// End returns the end of an old incarnation's leaves. Such an incarnation gets no new entries.
func (f *Shape) End() uint64 { return 1 << (64 - f.LeafBits) }

// Leaf returns the leaf of a sequence.
func (f *Shape) Leaf(seq db.Seq) uint64 { return uint64(seq.Version()) >> f.LeafBits }

// In returns the block of a level that contains a leaf.
func (f *Shape) In(level int, leaf uint64) uint64 { return leaf >> (f.LevelBits * level) }

// First returns the first leaf of a block.
func (f *Shape) First(level int, block uint64) uint64 { return block << (f.LevelBits * level) }

// Before returns the last sequence before a leaf.
func (f *Shape) Before(incarnation int64, leaf uint64) db.Seq {
	s := db.Seq{Incarnation: incarnation}
	switch {
	case leaf >= f.End():
		for i := range s.Stamp {
			s.Stamp[i] = 0xff
		}
		return s
	case leaf == 0:
		return s
	}
	binary.BigEndian.PutUint64(s.Stamp[:], leaf<<f.LeafBits)
	return before(s)
}

// feedMarkKind is the second part of the keys of marks. For counts it is one more than their level.
const feedMarkKind = 0

// CountsPrefix returns the prefix of a level's rows: (FeedCounts, 1 + level, ShardID, Incarnation).
func CountsPrefix(s db.Space, dst []byte, level int, shard db.ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.Sub(dst, keyspace.FeedCounts), int64(1+level))
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// countKey returns the key of a block's row.
func countKey(s db.Space, dst []byte, level int, shard db.ShardID, incarnation int64, block uint64) []byte {
	return tuple.AppendInt(CountsPrefix(s, dst, level, shard, incarnation), int64(block))
}

// CountRange returns the range of the rows of blocks in [from, to).
func CountRange(s db.Space, level int, shard db.ShardID, incarnation int64, from, to uint64) kv.KeyRange {
	return kv.KeyRange{
		Begin: countKey(s, nil, level, shard, incarnation, from),
		End:   countKey(s, nil, level, shard, incarnation, max(from, to)),
	}
}

// markKey returns (FeedCounts, 0, ShardID, Incarnation).
func markKey(s db.Space, dst []byte, shard db.ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.Sub(dst, keyspace.FeedCounts), feedMarkKind)
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// Mark is the position up to which the counts of a shard and incarnation are closed.
type Mark struct {
	Shard       db.ShardID
	Incarnation int64
	Closed      uint64             // leaves below this one are closed
	swept       [FeedLevels]uint64 // for each higher level: the block at which the next sweep continues
}

func (m *Mark) appendValue(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.FeedCountFormat)
	dst = tuple.AppendInt(dst, int64(m.Closed))
	for level := 1; level < FeedLevels; level++ {
		dst = tuple.AppendInt(dst, int64(m.swept[level]))
	}
	return dst
}

// parse decodes a mark's value. A nil value is a mark at the beginning.
func (m *Mark) parse(value []byte) error {
	if value == nil {
		return nil
	}
	t := db.Taker{B: value}
	format := db.Take(&t, tuple.TakeInt)
	m.Closed = uint64(db.Take(&t, tuple.TakeInt))
	for level := 1; level < FeedLevels; level++ {
		m.swept[level] = uint64(db.Take(&t, tuple.TakeInt))
	}
	if t.Err != nil {
		return db.Corrupt("mark of counts", t.Err)
	}
	if format != keyspace.FeedCountFormat {
		return db.UnknownFormat("a mark of counts", format, keyspace.FeedCountFormat)
	}
	return nil
}

// ReadFeedMarks starts reading the marks of all shards. The marks of a shard are in the order of incarnations.
func ReadFeedMarks(r kv.Reader, keys db.Space) (wait func() (map[db.ShardID][]Mark, error)) {
	prefix := tuple.AppendInt(keys.Sub(nil, keyspace.FeedCounts), feedMarkKind)
	rows := db.GetRange(r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	return func() (map[db.ShardID][]Mark, error) {
		defer rows.Close()
		marks := map[db.ShardID][]Mark{}
		for rows.Next() {
			row := rows.KeyValue()
			t := db.Taker{B: row.Key[len(prefix):]}
			m := Mark{Shard: db.ShardID(db.Take(&t, tuple.TakeString)), Incarnation: db.Take(&t, tuple.TakeInt)}
			if t.Err != nil {
				return nil, db.Corrupt("mark of counts", t.Err)
			}
			if err := m.parse(row.Value); err != nil {
				return nil, err
			}
			marks[m.Shard] = append(marks[m.Shard], m)
		}
		return marks, rows.Err()
	}
}

// BlockCount is a row of a level.
type BlockCount struct {
	block uint64
	N     int64
}

// EachBlock calls f for the rows of a range until f returns false. prefix is the length of the keys' common prefix.
func EachBlock(rows kv.RangeIterator, prefix int, f func(b BlockCount) (more bool)) error {
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		block, _, err := tuple.TakeInt(row.Key[prefix:])
		if err != nil {
			return db.Corrupt("counts of changes", err)
		}
		if !f(BlockCount{uint64(block), db.CounterValue(row.Value)}) {
			return nil
		}
	}
	return rows.Err()
}

// clearedEntry is an entry that a transaction has cleared.
type clearedEntry struct {
	shard       db.ShardID
	incarnation int64
	leaf        uint64
}

// clearedEntries collects the entries that a transaction has cleared.
type clearedEntries struct{ list []clearedEntry }

// ClearEntry clears a document's feed entry. At the end of the transaction, the entry is subtracted from the counts.
func ClearEntry(t *db.Txn, id string, seq db.Seq) {
	shard := t.Cfg.ShardAt(id, seq)
	t.Clear(t.Close(t.Keys.Entry(t.Open(), shard, seq)))
	c := db.Gather[clearedEntries](t)
	c.list = append(c.list, clearedEntry{shard, seq.Incarnation, StateOf(t.Db.Store).Shape.Leaf(seq)})
}

// Finish subtracts the cleared entries from the counts.
func (cleared *clearedEntries) Finish(t *db.Txn) {
	list := cleared.list
	slices.SortFunc(list, func(a, b clearedEntry) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.incarnation, b.incarnation),
			cmp.Compare(a.leaf, b.leaf))
	})
	shape := &StateOf(t.Db.Store).Shape
	for level := range FeedLevels {
		n := int64(0)
		for i := range list {
			c := list[i]
			n--
			if i+1 < len(list) {
				next := list[i+1]
				if next.shard == c.shard && next.incarnation == c.incarnation &&
					shape.In(level, next.leaf) == shape.In(level, c.leaf) {
					continue
				}
			}
			addFeedCount(t, level, c.shard, c.incarnation, shape.In(level, c.leaf), n)
			n = 0
		}
	}
}

// addFeedCount adds n to the row of a block.
func addFeedCount(t *db.Txn, level int, shard db.ShardID, incarnation int64, block uint64, n int64) {
	if n != 0 {
		key := t.Close(countKey(t.Keys, t.Open(), level, shard, incarnation, block))
		t.Atomic(kv.AtomicAdd, key, db.LittleEndian(n))
	}
}

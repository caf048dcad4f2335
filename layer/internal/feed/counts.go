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

// How many entries of the feed lie between two sequences is known without reading them: entries are counted by blocks
// of their commit version, in three levels. A block of the lowest level, a leaf, is 2^16 versions, a fifteenth of a
// second; one of each higher level is 1024 of the level below, so about a minute and a day. Versions are microseconds
// on both kinds of engine, and what has no entries has no rows, so time in which nothing is written costs nothing.
//
// Each shard and incarnation has its own counts, and a mark up to which leaf they are closed:
//
//   - Entries only come behind the mark, since a version that can be read is behind all commits to come. Whoever clears
//     an entry, by moving or purging it, adds -1 to its block of each level, without looking where the mark is.
//   - A closing (closing.go) counts the entries of some leaves behind the mark, adds them to the blocks, takes back
//     what was subtracted there before, and moves the mark. It only adds, too, so it conflicts with no writer.
//   - So the rows of closed blocks are exact at every version. Those behind the mark are not, and nobody reads them.
//   - Who counts (rank.go) adds up a few ranges of rows, and reads entries in one leaf and behind the mark.
//
// Where a closed block of a higher level has 1024 entries or fewer, they are read instead of the rows below it. It
// never gets more of them, so those rows are garbage from then on. A closing does not write them, and some of those
// that are there are removed with every closing. There are never many more rows than one for each leaf that has
// entries.
//
// The keys that writers share are those of the same shard's: like the shard's counters, a block of a higher level gets
// one addition from every transaction that moves entries within it. Other rows are as many as there are leaves.
const FeedLevels = 3

// Shape is how large blocks are. Only tests have another one than DefaultShape.
type Shape struct {
	LeafBits  int   // a leaf's versions, as a power of two
	LevelBits int   // how many blocks of a level one of the next has
	Sparse    int64 // up to how many entries of a block are read one by one
	Least     int   // how many entries of a shard have to be behind the mark before it is moved
}

var DefaultShape = Shape{LeafBits: 16, LevelBits: 10, Sparse: 1024, Least: 256}

// End is where the leaves of an incarnation end that is over: its entries only become fewer.
func (f *Shape) End() uint64 { return 1 << (64 - f.LeafBits) }

// Leaf is the leaf of a sequence.
func (f *Shape) Leaf(seq db.Seq) uint64 { return version(seq) >> f.LeafBits }

// In is the block of a level that a leaf is in.
func (f *Shape) In(level int, leaf uint64) uint64 { return leaf >> (f.LevelBits * level) }

// First is the first leaf of a block.
func (f *Shape) First(level int, block uint64) uint64 { return block << (f.LevelBits * level) }

// Before is the last sequence before a leaf.
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

// version is the version of the commit that a sequence is of.
func version(s db.Seq) uint64 { return binary.BigEndian.Uint64(s.Stamp[:]) }

// feedMarkKind is the kind of rows that marks are; those of a level are one more than it.
const feedMarkKind = 0

// CountsPrefix is what the rows of a level begin with: (FeedCounts, 1 + level, ShardID, Incarnation).
func CountsPrefix(s db.Space, dst []byte, level int, shard db.ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.Sub(dst, keyspace.FeedCounts), int64(1+level))
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// CountKey is the row of a block.
func CountKey(s db.Space, dst []byte, level int, shard db.ShardID, incarnation int64, block uint64) []byte {
	return tuple.AppendInt(CountsPrefix(s, dst, level, shard, incarnation), int64(block))
}

// CountRange is the rows of some blocks: from one up to another, which it leaves out.
func CountRange(s db.Space, level int, shard db.ShardID, incarnation int64, from, to uint64) kv.KeyRange {
	return kv.KeyRange{
		Begin: CountKey(s, nil, level, shard, incarnation, from),
		End:   CountKey(s, nil, level, shard, incarnation, max(from, to)),
	}
}

// MarkKey is (FeedCounts, 0, ShardID, Incarnation).
func MarkKey(s db.Space, dst []byte, shard db.ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.Sub(dst, keyspace.FeedCounts), feedMarkKind)
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// Mark is up to where the counts of a shard and incarnation are closed.
type Mark struct {
	Shard       db.ShardID
	Incarnation int64
	Closed      uint64             // leaves below
	swept       [FeedLevels]uint64 // of the higher levels: where the next sweep goes on
}

func (m *Mark) appendValue(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.FeedCountFormat)
	dst = tuple.AppendInt(dst, int64(m.Closed))
	for level := 1; level < FeedLevels; level++ {
		dst = tuple.AppendInt(dst, int64(m.swept[level]))
	}
	return dst
}

// parseFeedMark reads a mark's value; none is a mark at the beginning.
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

// ReadFeedMarks starts reading the marks of all shards, each shard's in the order of incarnations.
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

// EachBlock calls f for the rows of a range, which was asked for with a prefix of so many bytes.
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

// clearedEntries are those of a transaction.
type clearedEntries struct{ list []clearedEntry }

// ClearEntry clears a document's entry in the feed, and takes it from the counts when the transaction ends.
func ClearEntry(t *db.Txn, id string, seq db.Seq) {
	shard := t.Cfg.ShardAt(id, seq)
	t.Clear(t.Close(t.Keys.Entry(t.Open(), shard, seq)))
	c := db.Gather[clearedEntries](t)
	c.list = append(c.list, clearedEntry{shard, seq.Incarnation, StateOf(t.Db.Store).Shape.Leaf(seq)})
}

// Finish writes what cleared entries take from the counts.
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

// addFeedCount adds to the row of a block.
func addFeedCount(t *db.Txn, level int, shard db.ShardID, incarnation int64, block uint64, n int64) {
	if n != 0 {
		key := t.Close(CountKey(t.Keys, t.Open(), level, shard, incarnation, block))
		t.Atomic(kv.AtomicAdd, key, db.LittleEndian(n))
	}
}

package layer

import (
	"cmp"
	"encoding/binary"
	"slices"

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
//   - A closing (feedclosing.go) counts the entries of some leaves behind the mark, adds them to the blocks, takes back
//     what was subtracted there before, and moves the mark. It only adds, too, so it conflicts with no writer.
//   - So the rows of closed blocks are exact at every version. Those behind the mark are not, and nobody reads them.
//   - Who counts (feedrank.go) adds up a few ranges of rows, and reads entries in one leaf and behind the mark.
//
// Where a closed block of a higher level has 1024 entries or fewer, they are read instead of the rows below it. It
// never gets more of them, so those rows are garbage from then on. A closing does not write them, and some of those
// that are there are removed with every closing. There are never many more rows than one for each leaf that has
// entries.
//
// The keys that writers share are those of the same shard's: like the shard's counters, a block of a higher level gets
// one addition from every transaction that moves entries within it. Other rows are as many as there are leaves.
const feedLevels = 3

// feedShape is how large blocks are. Only tests have another one than defaultShape.
type feedShape struct {
	leafBits  int   // a leaf's versions, as a power of two
	levelBits int   // how many blocks of a level one of the next has
	sparse    int64 // up to how many entries of a block are read one by one
	least     int   // how many entries of a shard have to be behind the mark before it is moved
}

var defaultShape = feedShape{leafBits: 16, levelBits: 10, sparse: 1024, least: 256}

// end is where the leaves of an incarnation end that is over: its entries only become fewer.
func (f *feedShape) end() uint64 { return 1 << (64 - f.leafBits) }

// leaf is the leaf of a sequence.
func (f *feedShape) leaf(seq Seq) uint64 { return version(seq) >> f.leafBits }

// in is the block of a level that a leaf is in.
func (f *feedShape) in(level int, leaf uint64) uint64 { return leaf >> (f.levelBits * level) }

// first is the first leaf of a block.
func (f *feedShape) first(level int, block uint64) uint64 { return block << (f.levelBits * level) }

// before is the last sequence before a leaf.
func (f *feedShape) before(incarnation int64, leaf uint64) Seq {
	s := Seq{Incarnation: incarnation}
	switch {
	case leaf >= f.end():
		for i := range s.Stamp {
			s.Stamp[i] = 0xff
		}
		return s
	case leaf == 0:
		return s
	}
	binary.BigEndian.PutUint64(s.Stamp[:], leaf<<f.leafBits)
	return before(s)
}

// version is the version of the commit that a sequence is of.
func version(s Seq) uint64 { return binary.BigEndian.Uint64(s.Stamp[:]) }

// feedMarkKind is the kind of rows that marks are; those of a level are one more than it.
const feedMarkKind = 0

// feedCounts is what the rows of a level begin with: (FeedCounts, 1 + level, ShardID, Incarnation).
func (s space) feedCounts(dst []byte, level int, shard ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.sub(dst, keyspace.FeedCounts), int64(1+level))
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// feedCount is the row of a block.
func (s space) feedCount(dst []byte, level int, shard ShardID, incarnation int64, block uint64) []byte {
	return tuple.AppendInt(s.feedCounts(dst, level, shard, incarnation), int64(block))
}

// feedCountRange is the rows of some blocks: from one up to another, which it leaves out.
func (s space) feedCountRange(level int, shard ShardID, incarnation int64, from, to uint64) kv.KeyRange {
	return kv.KeyRange{
		Begin: s.feedCount(nil, level, shard, incarnation, from),
		End:   s.feedCount(nil, level, shard, incarnation, max(from, to)),
	}
}

// feedMark is (FeedCounts, 0, ShardID, Incarnation).
func (s space) feedMark(dst []byte, shard ShardID, incarnation int64) []byte {
	dst = tuple.AppendInt(s.sub(dst, keyspace.FeedCounts), feedMarkKind)
	return tuple.AppendInt(tuple.AppendString(dst, string(shard)), incarnation)
}

// feedMark is up to where the counts of a shard and incarnation are closed.
type feedMark struct {
	shard       ShardID
	incarnation int64
	closed      uint64             // leaves below
	swept       [feedLevels]uint64 // of the higher levels: where the next sweep goes on
}

func (m *feedMark) appendValue(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.FeedCountFormat)
	dst = tuple.AppendInt(dst, int64(m.closed))
	for level := 1; level < feedLevels; level++ {
		dst = tuple.AppendInt(dst, int64(m.swept[level]))
	}
	return dst
}

// parseFeedMark reads a mark's value; none is a mark at the beginning.
func (m *feedMark) parse(value []byte) error {
	if value == nil {
		return nil
	}
	t := taker{b: value}
	format := take(&t, tuple.TakeInt)
	m.closed = uint64(take(&t, tuple.TakeInt))
	for level := 1; level < feedLevels; level++ {
		m.swept[level] = uint64(take(&t, tuple.TakeInt))
	}
	if t.err != nil {
		return corrupt("mark of counts", t.err)
	}
	if format != keyspace.FeedCountFormat {
		return unknownFormat("a mark of counts", format, keyspace.FeedCountFormat)
	}
	return nil
}

// readFeedMarks starts reading the marks of all shards, each shard's in the order of incarnations.
func readFeedMarks(r kv.Reader, keys space) (wait func() (map[ShardID][]feedMark, error)) {
	prefix := tuple.AppendInt(keys.sub(nil, keyspace.FeedCounts), feedMarkKind)
	rows := getRange(r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	return func() (map[ShardID][]feedMark, error) {
		defer rows.Close()
		marks := map[ShardID][]feedMark{}
		for rows.Next() {
			row := rows.KeyValue()
			t := taker{b: row.Key[len(prefix):]}
			m := feedMark{shard: ShardID(take(&t, tuple.TakeString)), incarnation: take(&t, tuple.TakeInt)}
			if t.err != nil {
				return nil, corrupt("mark of counts", t.err)
			}
			if err := m.parse(row.Value); err != nil {
				return nil, err
			}
			marks[m.shard] = append(marks[m.shard], m)
		}
		return marks, rows.Err()
	}
}

// blockCount is a row of a level.
type blockCount struct {
	block uint64
	n     int64
}

// eachBlock calls f for the rows of a range, which was asked for with a prefix of so many bytes.
func eachBlock(rows kv.RangeIterator, prefix int, f func(b blockCount) (more bool)) error {
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		block, _, err := tuple.TakeInt(row.Key[prefix:])
		if err != nil {
			return corrupt("counts of changes", err)
		}
		if !f(blockCount{uint64(block), counterValue(row.Value)}) {
			return nil
		}
	}
	return rows.Err()
}

// clearedEntry is an entry that a transaction has cleared.
type clearedEntry struct {
	shard       ShardID
	incarnation int64
	leaf        uint64
}

// clearedEntries are those of a transaction.
type clearedEntries struct{ list []clearedEntry }

// clearEntry clears a document's entry in the feed, and takes it from the counts when the transaction ends.
func (t *txn) clearEntry(id string, seq Seq) {
	shard := t.cfg.shardAt(id, seq)
	t.Clear(t.close(t.keys.entry(t.open(), shard, seq)))
	c := gather[clearedEntries](t)
	c.list = append(c.list, clearedEntry{shard, seq.Incarnation, feedOf(t.db.store).shape.leaf(seq)})
}

// finish writes what cleared entries take from the counts.
func (cleared *clearedEntries) finish(t *txn) {
	list := cleared.list
	slices.SortFunc(list, func(a, b clearedEntry) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.incarnation, b.incarnation),
			cmp.Compare(a.leaf, b.leaf))
	})
	shape := &feedOf(t.db.store).shape
	for level := range feedLevels {
		n := int64(0)
		for i := range list {
			c := list[i]
			n--
			if i+1 < len(list) {
				next := list[i+1]
				if next.shard == c.shard && next.incarnation == c.incarnation &&
					shape.in(level, next.leaf) == shape.in(level, c.leaf) {
					continue
				}
			}
			t.addFeedCount(level, c.shard, c.incarnation, shape.in(level, c.leaf), n)
			n = 0
		}
	}
}

// addFeedCount adds to the row of a block.
func (t *txn) addFeedCount(level int, shard ShardID, incarnation int64, block uint64, n int64) {
	if n != 0 {
		key := t.close(t.keys.feedCount(t.open(), level, shard, incarnation, block))
		t.Atomic(kv.AtomicAdd, key, littleEndian(n))
	}
}

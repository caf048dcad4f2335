package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// entry is one changes entry as stored.
type entry struct {
	seq      Seq
	shard    ShardID
	id       string
	rev      Rev
	branches int64
	deleted  bool
	// raw are the document's id and revision as its keys have them, where the entry was read from the feed. It is valid
	// until the next one is read.
	raw   []byte
	moved *movedEntry // where it is not in the feed any more (movedentries.go)
}

// parseEntry reads an entry; key is what follows its shard's prefix.
func parseEntry(e *entry, key, value []byte) error {
	var err error
	if e.seq, _, err = takeSeq(key); err != nil {
		return corrupt("changes entry", err)
	}
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return corrupt("changes entry", err)
	}
	if format != keyspace.SeqFormat {
		return unknownFormat("a changes entry", format, keyspace.SeqFormat)
	}
	e.raw = rest
	e.id, rest, err = tuple.TakeString(rest)
	if err == nil {
		e.rev, rest, err = takeRev(rest)
		e.raw = e.raw[:len(e.raw)-len(rest)]
	}
	if err == nil {
		e.branches, rest, err = tuple.TakeInt(rest)
	}
	if err == nil {
		var live bool
		live, _, err = tuple.TakeBool(rest)
		e.deleted = !live
	}
	if err != nil {
		return corrupt("changes entry", err)
	}
	return nil
}

// entryRange is the entries of a shard with since < seq, and seq <= until where that is not zero.
func entryRange(keys space, shard ShardID, since, until Seq) kv.KeyRange {
	r := prefixRange(keys.feed(nil, shard))
	r.Begin = append(keys.entry(nil, shard, since), 0)
	if !until.IsZero() {
		r.End = append(keys.entry(nil, shard, until), 0)
	}
	if string(r.Begin) > string(r.End) {
		r.End = r.Begin
	}
	return r
}

// shardCursor is one shard's place in a merge.
type shardCursor struct {
	rows   kv.RangeIterator
	prefix int
	next   entry
	live   bool
}

func (c *shardCursor) advance() error {
	if c.live = c.rows.Next(); !c.live {
		return c.rows.Err()
	}
	row := c.rows.KeyValue()
	return parseEntry(&c.next, row.Key[c.prefix:], row.Value)
}

// merge reads the shards of one map as one feed in total order (P6): all at one read version, so that the next entry is the least of
// the shards' next. It asks every shard at once; with at most a few dozen shards a linear search beats a heap.
type merge struct {
	cursors    []shardCursor
	descending bool
}

// openMerge starts reading all shards of a map.
func openMerge(r kv.Reader, keys space, shards []ShardID, since, until Seq, descending bool) *merge {
	m := &merge{cursors: make([]shardCursor, len(shards)), descending: descending}
	for i, id := range shards {
		c := &m.cursors[i]
		c.next.shard = id
		c.prefix = len(keys.feed(nil, id))
		c.rows = r.GetRange(entryRange(keys, id, since, until), kv.RangeOptions{Reverse: descending})
	}
	return m
}

// start moves every cursor to its first entry.
func (m *merge) start() error {
	for i := range m.cursors {
		if err := m.cursors[i].advance(); err != nil {
			return err
		}
	}
	return nil
}

// least is the cursor with the next entry, nil at the end.
func (m *merge) least() *shardCursor {
	var best *shardCursor
	for i := range m.cursors {
		c := &m.cursors[i]
		if !c.live {
			continue
		}
		if best == nil || (c.next.seq.Compare(best.next.seq) < 0) != m.descending {
			best = c
		}
	}
	return best
}

func (m *merge) close() {
	for i := range m.cursors {
		m.cursors[i].rows.Close()
	}
}

package feed

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Entry is one changes entry as stored.
type Entry struct {
	Seq      db.Seq
	Shard    db.ShardID
	Id       string
	Rev      db.Rev
	Branches int64
	Deleted  bool
	// raw is the encoded document id and revision, as in keys, if the entry was read from the feed. It is valid until
	// the next entry is read.
	raw   []byte
	Moved *movedEntry // set if the entry has moved since a cut (movedentries.go)
}

// ParseEntry decodes an entry. key is the part of its key after the shard's prefix.
func ParseEntry(e *Entry, key, value []byte) error {
	var err error
	if e.Seq, _, err = db.TakeSeq(key); err != nil {
		return db.Corrupt("changes entry", err)
	}
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return db.Corrupt("changes entry", err)
	}
	if format != keyspace.SeqFormat {
		return db.UnknownFormat("a changes entry", format, keyspace.SeqFormat)
	}
	e.raw = rest
	e.Id, rest, err = tuple.TakeString(rest)
	if err == nil {
		e.Rev, rest, err = db.TakeRev(rest)
		e.raw = e.raw[:len(e.raw)-len(rest)]
	}
	if err == nil {
		e.Branches, rest, err = tuple.TakeInt(rest)
	}
	if err == nil {
		var live bool
		live, _, err = tuple.TakeBool(rest)
		e.Deleted = !live
	}
	if err != nil {
		return db.Corrupt("changes entry", err)
	}
	return nil
}

// EntryRange returns the range of a shard's entries with since < seq <= until; a zero until means the end.
func EntryRange(keys db.Space, shard db.ShardID, since, until db.Seq) kv.KeyRange {
	r := db.PrefixRange(keys.Feed(nil, shard))
	r.Begin = append(keys.Entry(nil, shard, since), 0)
	if !until.IsZero() {
		r.End = append(keys.Entry(nil, shard, until), 0)
	}
	if string(r.Begin) > string(r.End) {
		r.End = r.Begin
	}
	return r
}

// shardCursor is the position of a merge in one shard.
type shardCursor struct {
	rows   kv.RangeIterator
	prefix int
	next   Entry
	live   bool
}

func (c *shardCursor) advance() error {
	if c.live = c.rows.Next(); !c.live {
		return c.rows.Err()
	}
	row := c.rows.KeyValue()
	return ParseEntry(&c.next, row.Key[c.prefix:], row.Value)
}

// merge reads the shards of one map as one feed in total order (P6). All shards are read at one version, so that the
// next entry is the smallest of their next entries. The reads of all shards are started together. A linear search is
// faster than a heap for a few dozen shards.
type merge struct {
	cursors    []shardCursor
	descending bool
}

// openMerge starts reading all shards of a map.
func openMerge(r kv.Reader, keys db.Space, shards []db.ShardID, since, until db.Seq, descending bool) *merge {
	m := &merge{cursors: make([]shardCursor, len(shards)), descending: descending}
	for i, id := range shards {
		c := &m.cursors[i]
		c.next.Shard = id
		c.prefix = len(keys.Feed(nil, id))
		c.rows = r.GetRange(EntryRange(keys, id, since, until), kv.RangeOptions{Reverse: descending})
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

// First returns the sequence of the first change with since < seq <= until that the feed still has, in some shards. It
// is until if there is none.
func First(r kv.Reader, keys db.Space, shards []db.ShardID, since, until db.Seq) (db.Seq, error) {
	m := openMerge(r, keys, shards, since, until, false)
	defer m.close()
	if err := m.start(); err != nil {
		return until, err
	}
	if c := m.least(); c != nil {
		return c.next.Seq, nil
	}
	return until, nil
}

// least returns the cursor with the next entry, or nil at the end.
func (m *merge) least() *shardCursor {
	var best *shardCursor
	for i := range m.cursors {
		c := &m.cursors[i]
		if !c.live {
			continue
		}
		if best == nil || (c.next.Seq.Compare(best.next.Seq) < 0) != m.descending {
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

package db

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ShardID names a changes shard. It is unique in the database and never reused (P1).
type ShardID string

// ShardMap is the list of shards that get new entries from Since on (P3).
type ShardMap struct {
	Since     Seq
	Scheme    string // hashing scheme, "" if the map is the deprecated subspace (P7)
	Shards    []ShardID
	Tombstone bool // replaced by a later map
}

// Routing is a ShardMap with methods that route documents, also in the deprecated subspace.
type Routing struct{ ShardMap }

// SchemeJump is the default hashing scheme: jump consistent hashing (Lamping and Veach, 2014) of the xxHash64 of the
// partition key. It needs no table, and a map with one more shard would move the fewest documents.
const SchemeJump = "xxh64-jump"

// Subspaces returns the map's shards. For the deprecated subspace, it returns the shard "".
func (m *Routing) Subspaces() []ShardID {
	if len(m.Shards) == 0 {
		return []ShardID{""}
	}
	return m.Shards
}

// route returns the shard of a partition key.
func (m *Routing) route(key string) ShardID {
	switch len(m.Shards) {
	case 0:
		return "" // the deprecated subspace
	case 1:
		return m.Shards[0]
	}
	return m.Shards[jump(xxhash.Sum64String(key), len(m.Shards))]
}

func jump(key uint64, buckets int) int {
	b, j := int64(-1), int64(0)
	for j < int64(buckets) {
		b = j
		key = key*2862933555777941757 + 1
		j = int64(float64(b+1) * (float64(int64(1)<<31) / float64((key>>33)+1)))
	}
	return int(b)
}

// partitionKey returns what routes a document (P2): the partition in a partitioned database, otherwise the id.
func (c *Config) partitionKey(id string) string {
	if c.Partitioned && !IsDesign(id) {
		return PartitionOf(id)
	}
	return id
}

// ShardAt returns the shard of the entry of a document written at seq. The shard is not stored, but computed from
// partition key and sequence (P2).
func (c *Config) ShardAt(id string, seq Seq) ShardID {
	i := len(c.Maps) - 1
	for i > 0 && c.Maps[i].Since.Compare(seq) >= 0 {
		i--
	}
	return c.Maps[i].route(c.partitionKey(id))
}

// Shard returns the shard of a document's next entry.
func (c *Config) Shard(id string) ShardID { return c.Maps[len(c.Maps)-1].route(c.partitionKey(id)) }

// MapsFrom returns the maps from the one active at since on.
func (c *Config) MapsFrom(since Seq) []Routing {
	i := len(c.Maps) - 1
	for i > 0 && c.Maps[i].Since.Compare(since) > 0 {
		i--
	}
	return c.Maps[i:]
}

// MapOf returns the index of the map that contains a shard, or -1 if there never was such a shard.
func (c *Config) MapOf(shard ShardID) int {
	for i, m := range c.Maps {
		for _, id := range m.Shards {
			if id == shard {
				return i
			}
		}
	}
	return -1
}

// NextShards returns n new shard ids: the numbers after the highest one ever used.
func (c *Config) NextShards(n int) []ShardID {
	last := 0
	for _, m := range c.Maps {
		for _, id := range m.Shards {
			if k, err := strconv.Atoi(string(id)); err == nil {
				last = max(last, k)
			}
		}
	}
	ids := make([]ShardID, n)
	for i := range ids {
		ids[i] = ShardID(strconv.Itoa(last + 1 + i))
	}
	return ids
}

// AppendValue encodes (ShardFormat, scheme, [shard ids], tombstone).
func (m *Routing) AppendValue(dst []byte) []byte {
	dst = tuple.AppendInt(dst, keyspace.ShardFormat)
	dst = tuple.AppendString(dst, m.Scheme)
	dst = tuple.BeginNested(dst)
	for _, id := range m.Shards {
		dst = tuple.AppendString(dst, string(id))
	}
	dst = tuple.EndNested(dst)
	return tuple.AppendBool(dst, m.Tombstone)
}

// ParseShardMap decodes a row of Config "changes_shards". key is the part after the name: the sequence.
func ParseShardMap(key, value []byte) (m Routing, err error) {
	if m.Since, _, err = TakeSeq(key); err != nil {
		return m, err
	}
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return m, err
	}
	if format != keyspace.ShardFormat {
		return m, UnknownFormat("a map of changes shards", format, keyspace.ShardFormat)
	}
	if m.Scheme, rest, err = tuple.TakeString(rest); err != nil {
		return m, err
	}
	if m.Scheme != "" && m.Scheme != SchemeJump {
		return m, fault.Errf(fault.Internal, "", "the database routes changes by the unknown scheme %q", m.Scheme)
	}
	ids, rest, err := tuple.TakeNested(rest)
	if err != nil {
		return m, err
	}
	for len(ids) > 0 {
		var id string
		if id, ids, err = tuple.TakeString(ids); err != nil {
			return m, err
		}
		m.Shards = append(m.Shards, ShardID(id))
	}
	m.Tombstone, _, err = tuple.TakeBool(rest)
	return m, err
}

// Clone returns a copy for callers.
func (m *Routing) Clone() ShardMap {
	c := m.ShardMap
	c.Shards = append([]ShardID(nil), c.Shards...)
	return c
}

// ShardMaps returns the maps from the one active at since on, oldest first; the last one is current. If the current map
// is the deprecated subspace, it first replaces it by a map with one shard. It returns Invalid if the database has not
// reached since.
func (d *Database) ShardMaps(ctx context.Context, since Seq) ([]ShardMap, error) {
	maps, err := d.shardMaps(ctx, since)
	if err == nil && maps[len(maps)-1].Scheme == "" {
		if err = d.leaveDeprecated(ctx); err == nil {
			maps, err = d.shardMaps(ctx, since)
		}
	}
	return maps, err
}

func (d *Database) shardMaps(ctx context.Context, since Seq) ([]ShardMap, error) {
	return Read(ctx, d, func(t *Txn) ([]ShardMap, error) {
		if !since.IsZero() {
			last, err := ReadLastSeq(t.Snapshot(), t.Keys, t.Cfg)()
			if err == nil {
				err = CheckSince(since, last)
			}
			if err != nil {
				return nil, err
			}
		}
		var maps []ShardMap
		for _, m := range t.Cfg.MapsFrom(since) {
			maps = append(maps, m.Clone())
		}
		return maps, nil
	})
}

// CheckSince returns Invalid for a sequence that the database, which is at last, has not reached: it belongs to another
// database or a future incarnation.
func CheckSince(since, last Seq) error {
	if since.Compare(last) <= 0 {
		return nil
	}
	return fault.Errf(fault.Invalid, "bad_request",
		"the sequence in 'since' is not one of this database, which is at %s", last)
}

// ReadLastSeq starts reading the newest sequence: the newest in the wake keys of the current shards, or the one at
// which their map began. Unlike the last entry's sequence, it never goes back, not even after a purge.
func ReadLastSeq(r kv.Reader, keys Space, cfg *Config) func() (Seq, error) {
	m := cfg.Current()
	shards := m.Subspaces()
	reads := make([]kv.Future[[]byte], len(shards))
	for i, id := range shards {
		reads[i] = r.Get(keys.Wake(nil, id))
	}
	return func() (Seq, error) {
		last := m.Since
		for _, f := range reads {
			value, err := f.Wait()
			if err != nil {
				return last, err
			}
			seq, err := ParseWake(value)
			if err != nil {
				return last, err
			}
			if seq.Compare(last) > 0 {
				last = seq
			}
		}
		return last, nil
	}
}

// ParseWake decodes a wake key's value; a missing one is the zero Seq.
func ParseWake(value []byte) (Seq, error) {
	if value == nil {
		return Seq{}, nil
	}
	seq, _, err := TakeSeq(value)
	if err != nil {
		return Seq{}, Corrupt("wake key", err)
	}
	return seq, nil
}

// ErrNoShard returns the NotFound error for changes shards.
func ErrNoShard(shard ShardID) error {
	return fault.Errf(fault.NotFound, "", "there is no changes shard %s", shard)
}

// errDeprecated is returned to a writer if the database's current map is the deprecated subspace.
var errDeprecated = errors.New("layer: the database was written before sharding")

// leaveDeprecated gives a database that was written before sharding its first map with a shard (P7). Entries in the
// deprecated subspace stay there until their documents change.
func (d *Database) leaveDeprecated(ctx context.Context) error {
	_, _, err := TransactOnce(ctx, d, kv.TransactOptions{}, func(t *Txn) (struct{}, error) {
		if t.Cfg.Current().Scheme == "" {
			t.Reshard(1)
		}
		return struct{}{}, nil
	})
	return err
}

// Reshard adds a new map at the commit's own sequence, marks the old one as replaced, and wakes readers that wait at
// the end of the old shards.
func (t *Txn) Reshard(n int) Routing {
	old := *t.Cfg.Current()
	old.Tombstone = true
	t.Set(t.Close(old.Since.AppendTuple(t.shardsKey())), t.Close(old.AppendValue(t.Open())))
	for _, id := range old.Subspaces() {
		t.setWake(id, 0)
	}
	m := Routing{ShardMap{Since: Seq{Incarnation: t.Cfg.Incarnation}, Scheme: SchemeJump, Shards: t.Cfg.NextShards(n)}}
	// The wake keys must exist, so that a watch on a shard that is never written sees the deletion of the database.
	for _, id := range m.Shards {
		t.setWake(id, 0)
	}
	key := tuple.AppendInt(t.shardsKey(), m.Since.Incarnation)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(0)))
	t.SetVersionstampedKey(key, offset, m.AppendValue(nil))
	t.Restamp = true
	return m
}

// shardsKey opens a key that begins with (Config, "changes_shards").
func (t *Txn) shardsKey() []byte { return t.Keys.Config(t.Open(), ConfigShards) }

// CheckShards rejects a number of shards that no database may have.
func (s *Store) CheckShards(n int) error {
	if n < 1 || n > s.maxShards {
		return fault.Errf(fault.Invalid, "bad_request", "the number of changes shards must be between 1 and %d",
			s.maxShards)
	}
	return nil
}

// ShardsSince returns the shards that may have entries after a sequence: those of every map that was active since then.
func ShardsSince(c *Config, since Seq) []ShardID {
	var shards []ShardID
	for _, m := range c.MapsFrom(since) {
		if len(m.Shards) == 0 {
			shards = append(shards, "") // the deprecated subspace
		}
		shards = append(shards, m.Shards...)
	}
	return slices.Compact(shards)
}

package db

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Names of settings in keyspace.Config.
const (
	ConfigUUID        = "uuid"
	ConfigIncarnation = "incarnation"
	ConfigRevsLimit   = "revs_limit"
	ConfigSecurity    = "security"
	ConfigPartitioned = "partitioned"
	ConfigShards      = "changes_shards"
	ConfigPurgesLimit = "purged_infos_limit"
	ConfigCuts        = "cuts"
	// ConfigPartitionCounts tells which partitions have exact counters. See layer/internal/partition.
	ConfigPartitionCounts = "partition_counts"
	// ConfigDocRanges tells how the list of documents is divided. See docranges.go.
	ConfigDocRanges = "doc_ranges"
)

const (
	DefaultRevsLimit = 1000
	maxRevsLimit     = 4000 // R5: the histories must fit into one value
)

// Config is a database's configuration at one stamp. It is immutable, except for seen.
type Config struct {
	Stamp []byte // value of keyspace.Stamp
	// seen is a metadata version of the store at which the database had this stamp. Every change of a stamp also
	// changes the metadata version, so the configuration is current in all transactions that find the same metadata
	// version. They need not read the stamp, whose key would otherwise be read by every request to the database, all
	// from one storage server.
	seen        atomic.Pointer[string]
	Uuid        string
	Incarnation int64
	RevsLimit   int
	PurgesLimit int
	Security    []byte
	securitySet bool
	Partitioned bool
	Maps        []Routing        // oldest first; the last one is current
	Watched     []*WatchedDesign // design documents that validate writes
	Interactive []DesignEntry    // design documents with interactive indexes, one for each index
	Cuts        []cut            // cuts of the feed, one for each index being built from a cut

	DocRanges    []DocRange    // ranges of the list of documents that have counters, in order
	LastDocRange int64         // the highest number that such a range has had
	docRangeAt   map[int64]int // indexes in DocRanges by number
}

// Current returns the shard map that writers use.
func (c *Config) Current() *Routing { return &c.Maps[len(c.Maps)-1] }

// Core is shared by all handles of a database: its keys and the cached configuration.
type Core struct {
	Name     string
	Number   int64 // never reused
	Created  kv.Versionstamp
	Keys     Space
	stampKey []byte
	Cached   atomic.Pointer[Config]
	Written  atomic.Int64 // entries written since a closing of the feed's counts was last requested
	Near     Nearness     // of documents that are written together
	// Undivided is when dividing the list of documents failed last, in nanoseconds since 1970, or 0. See
	// layer/internal/alldocs/divide.go.
	Undivided atomic.Int64
	Counts    Counts // since the core was created
	share     sync.Once
	shared    *Database // see Database.Shared
	keeping   sync.Once
	kept      any // see Database.Kept
}

// NewCore returns the core of a database, without its configuration. root is the prefix of all keys of the store.
func NewCore(root []byte, name string, number int64, created kv.Versionstamp) *Core {
	prefix := tuple.AppendInt(append([]byte(nil), root...), int64(keyspace.Data))
	c := &Core{Name: name, Number: number, Created: created, Keys: Space{Prefix: tuple.AppendInt(prefix, number)}}
	c.stampKey = c.Keys.Sub(nil, keyspace.Stamp)
	return c
}

// copied returns a core of the same database, with the configuration that is cached.
func (c *Core) copied(root []byte) *Core {
	out := NewCore(root, c.Name, c.Number, c.Created)
	out.Cached.Store(c.Cached.Load())
	return out
}

// keep caches cfg unless a newer configuration is cached. Stamps are versionstamps and can be compared.
func (c *Core) keep(cfg *Config) {
	for {
		old := c.Cached.Load()
		if old != nil && bytes.Compare(old.Stamp, cfg.Stamp) >= 0 || c.Cached.CompareAndSwap(old, cfg) {
			return
		}
	}
}

// Current reports whether cfg is the database's configuration at r's version. It reads the stamp only if the store's
// metadata version has changed since the last call. metadata is r's read of the metadata version.
func (c *Core) Current(r kv.Reader, cfg *Config, metadata kv.Future[[]byte]) (bool, error) {
	now, err := metadata.Wait()
	if err != nil {
		return false, err
	}
	if seen := cfg.seen.Load(); seen != nil && *seen == string(now) {
		return true, nil
	}
	stamp, err := r.Get(c.stampKey).Wait()
	if err != nil || !bytes.Equal(stamp, cfg.Stamp) {
		return false, err
	}
	seen := string(now)
	cfg.seen.Store(&seen)
	return true, nil
}

// Load reads the configuration. It returns nil if the database is deleted.
func (c *Core) Load(r kv.Reader) (*Config, error) {
	metadata, stamp := kv.MetadataVersion(r), r.Get(c.stampKey)
	prefix := c.Keys.Sub(nil, keyspace.Config)
	rows := r.GetRange(PrefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	designs := r.GetRange(PrefixRange(c.Keys.Sub(nil, keyspace.Designs)), kv.RangeOptions{Mode: kv.ModeWantAll})

	cfg := &Config{RevsLimit: DefaultRevsLimit, PurgesLimit: DefaultPurgesLimit, Security: []byte("{}")}
	var err error
	if cfg.Stamp, err = stamp.Wait(); err != nil || cfg.Stamp == nil {
		return nil, err
	}
	seen, err := metadata.Wait()
	if err != nil {
		return nil, err
	}
	version := string(seen)
	cfg.seen.Store(&version)
	for rows.Next() {
		row := rows.KeyValue()
		if err := cfg.Set(row.Key[len(prefix):], row.Value); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(cfg.Maps) == 0 {
		return nil, fault.Errf(fault.Internal, "", "database %s has no shard map", c.Name)
	}
	entries, err := ReadDesignEntries(designs, len(c.Keys.Sub(nil, keyspace.Designs)))
	for _, e := range entries {
		if e.Watched {
			cfg.Watched = append(cfg.Watched, &WatchedDesign{Id: e.Id, Rev: e.Rev})
		}
		if e.Interactive != "" && !cfg.Maintains(e.Interactive) {
			cfg.Interactive = append(cfg.Interactive, e)
		}
	}
	return cfg, err
}

// Set sets one setting from its row. key is the part after the subspace.
func (c *Config) Set(key, value []byte) error {
	name, rest, err := tuple.TakeString(key)
	if err != nil {
		return Corrupt("configuration", err)
	}
	switch name {
	case ConfigUUID:
		c.Uuid = string(value)
	case ConfigIncarnation:
		c.Incarnation, _, err = tuple.TakeInt(value)
	case ConfigRevsLimit:
		var n int64
		n, _, err = tuple.TakeInt(value)
		c.RevsLimit = int(n)
	case ConfigPurgesLimit:
		var n int64
		n, _, err = tuple.TakeInt(value)
		c.PurgesLimit = int(n)
	case ConfigSecurity:
		c.Security, c.securitySet = append([]byte(nil), value...), true
	case ConfigPartitioned:
		c.Partitioned, _, err = tuple.TakeBool(value)
	case ConfigShards:
		var m Routing
		if m, err = ParseShardMap(rest, value); err == nil {
			c.Maps = append(c.Maps, m)
		}
	case ConfigCuts:
		var x cut
		if x, err = parseCut(rest, value); err == nil {
			c.Cuts = append(c.Cuts, x)
		}
	case ConfigDocRanges:
		err = c.setDocRange(rest, value)
	}
	if err != nil {
		return Corrupt("configuration "+name, err)
	}
	return nil
}

// DefaultPurgesLimit is the same as CouchDB's.
const DefaultPurgesLimit = 1000

// cut is the sequence at which the feed is preserved for the build of an index.
type cut struct {
	Signature string
	seq       Seq
}

// parseCut decodes a row of Config "cuts". key is the part after the name: the signature.
func parseCut(key, value []byte) (c cut, err error) {
	if c.Signature, _, err = tuple.TakeString(key); err != nil {
		return c, err
	}
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return c, err
	}
	if format != keyspace.CutFormat {
		return c, UnknownFormat("a cut of the feed", format, keyspace.CutFormat)
	}
	c.seq, _, err = TakeSeq(rest)
	return c, err
}

// CutOf returns the cut for an index.
func (c *Config) CutOf(signature string) (seq Seq, ok bool) {
	for _, x := range c.Cuts {
		if x.Signature == signature {
			return x.seq, true
		}
	}
	return Seq{}, false
}

// CutRange returns the sequences of the oldest and the newest cut. There must be a cut.
func (c *Config) CutRange() (oldest, newest Seq) {
	least := slices.MinFunc(c.Cuts, func(a, b cut) int { return a.seq.Compare(b.seq) })
	most := slices.MaxFunc(c.Cuts, func(a, b cut) int { return a.seq.Compare(b.seq) })
	return least.seq, most.seq
}

// Maintains reports whether an index is interactive: updated by the transactions that write documents.
func (c *Config) Maintains(signature string) bool {
	return slices.ContainsFunc(c.Interactive, func(e DesignEntry) bool { return e.Interactive == signature })
}

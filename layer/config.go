package layer

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Names of keyspace.Config.
const (
	configUUID        = "uuid"
	configIncarnation = "incarnation"
	configRevsLimit   = "revs_limit"
	configSecurity    = "security"
	configPartitioned = "partitioned"
	configShards      = "changes_shards"
	configPurgesLimit = "purged_infos_limit"
	configCuts        = "cuts"
)

const (
	defaultRevsLimit = 1000
	maxRevsLimit     = 4000 // R5: what fits one value
)

// config is a database's configuration as of one stamp. Immutable but for seen.
type config struct {
	stamp []byte // value of keyspace.Stamp
	// seen is a metadata version of the store at which the stamp was this one. Every change of a stamp changes the metadata version too, so the
	// configuration is current in all transactions that find that version: they need not read the stamp, which would be a key that every request of the
	// database asks one storage server for.
	seen        atomic.Pointer[string]
	uuid        string
	incarnation int64
	revsLimit   int
	purgesLimit int
	security    []byte
	securitySet bool
	partitioned bool
	maps        []shardMap       // oldest first; the last is current
	watched     []*watchedDesign // design documents that writes are validated by
	interactive []designEntry    // those whose indexes writes keep up to date, one for each index
	cuts        []cut            // as of which the feed is kept, one for each index that is built so
}

// current is the shard map that writers use.
func (c *config) current() *shardMap { return &c.maps[len(c.maps)-1] }

// core is what all handles of one database share: its keys and the cached configuration.
type core struct {
	name     string
	number   int64 // never reused
	created  kv.Versionstamp
	keys     space
	stampKey []byte
	cached   atomic.Pointer[config]
	written  atomic.Int64 // entries, since counts were last asked to be brought up
	near     nearness     // of the documents that are written together
	share    sync.Once
	shared   *Database // see Database.Shared
}

func newCore(root []byte, name string, number int64, created kv.Versionstamp) *core {
	prefix := tuple.AppendInt(append([]byte(nil), root...), int64(keyspace.Data))
	c := &core{name: name, number: number, created: created, keys: space{prefix: tuple.AppendInt(prefix, number)}}
	c.stampKey = c.keys.sub(nil, keyspace.Stamp)
	return c
}

// keep caches a configuration unless a newer one is there: stamps are versionstamps.
func (c *core) keep(cfg *config) {
	for {
		old := c.cached.Load()
		if old != nil && bytes.Compare(old.stamp, cfg.stamp) >= 0 || c.cached.CompareAndSwap(old, cfg) {
			return
		}
	}
}

// current reports whether cfg is the database's configuration as r sees it. It costs a read where something in the store has changed since it was last
// asked, by whomever; metadata is r's.
func (c *core) current(r kv.Reader, cfg *config, metadata kv.Future[[]byte]) (bool, error) {
	now, err := metadata.Wait()
	if err != nil {
		return false, err
	}
	if seen := cfg.seen.Load(); seen != nil && *seen == string(now) {
		return true, nil
	}
	stamp, err := r.Get(c.stampKey).Wait()
	if err != nil || !bytes.Equal(stamp, cfg.stamp) {
		return false, err
	}
	seen := string(now)
	cfg.seen.Store(&seen)
	return true, nil
}

// load reads the configuration; nil where the database is deleted.
func (c *core) load(r kv.Reader) (*config, error) {
	metadata, stamp := kv.MetadataVersion(r), r.Get(c.stampKey)
	prefix := c.keys.sub(nil, keyspace.Config)
	rows := r.GetRange(prefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	designs := r.GetRange(prefixRange(c.keys.sub(nil, keyspace.Designs)), kv.RangeOptions{Mode: kv.ModeWantAll})

	cfg := &config{revsLimit: defaultRevsLimit, purgesLimit: defaultPurgesLimit, security: []byte("{}")}
	var err error
	if cfg.stamp, err = stamp.Wait(); err != nil || cfg.stamp == nil {
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
		if err := cfg.set(row.Key[len(prefix):], row.Value); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(cfg.maps) == 0 {
		return nil, errf(Internal, "", "database %s has no map of changes shards", c.name)
	}
	entries, err := readDesignEntries(designs, len(c.keys.sub(nil, keyspace.Designs)))
	for _, e := range entries {
		if e.watched {
			cfg.watched = append(cfg.watched, &watchedDesign{id: e.id, rev: e.rev})
		}
		if e.interactive != "" && !cfg.maintains(e.interactive) {
			cfg.interactive = append(cfg.interactive, e)
		}
	}
	return cfg, err
}

// set takes one row of Config. key is what follows the subspace.
func (c *config) set(key, value []byte) error {
	name, rest, err := tuple.TakeString(key)
	if err != nil {
		return corrupt("configuration", err)
	}
	switch name {
	case configUUID:
		c.uuid = string(value)
	case configIncarnation:
		c.incarnation, _, err = tuple.TakeInt(value)
	case configRevsLimit:
		var n int64
		n, _, err = tuple.TakeInt(value)
		c.revsLimit = int(n)
	case configPurgesLimit:
		var n int64
		n, _, err = tuple.TakeInt(value)
		c.purgesLimit = int(n)
	case configSecurity:
		c.security, c.securitySet = append([]byte(nil), value...), true
	case configPartitioned:
		c.partitioned, _, err = tuple.TakeBool(value)
	case configShards:
		var m shardMap
		if m, err = parseShardMap(rest, value); err == nil {
			c.maps = append(c.maps, m)
		}
	case configCuts:
		var x cut
		if x, err = parseCut(rest, value); err == nil {
			c.cuts = append(c.cuts, x)
		}
	}
	if err != nil {
		return corrupt("configuration "+name, err)
	}
	return nil
}

// defaultPurgesLimit is CouchDB's.
const defaultPurgesLimit = 1000

// cut is the sequence as of which the feed is kept, for the build of an index.
type cut struct {
	signature string
	seq       Seq
}

// parseCut reads a row of Config "cuts"; key is what follows the name: the signature.
func parseCut(key, value []byte) (c cut, err error) {
	if c.signature, _, err = tuple.TakeString(key); err != nil {
		return c, err
	}
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return c, err
	}
	if format != keyspace.CutFormat {
		return c, unknownFormat("a cut of the feed", format, keyspace.CutFormat)
	}
	c.seq, _, err = takeSeq(rest)
	return c, err
}

// cutOf is the cut for an index.
func (c *config) cutOf(signature string) (seq Seq, ok bool) {
	for _, x := range c.cuts {
		if x.signature == signature {
			return x.seq, true
		}
	}
	return Seq{}, false
}

// cutRange is the sequences of the oldest cut and of the newest. There has to be one.
func (c *config) cutRange() (oldest, newest Seq) {
	least := slices.MinFunc(c.cuts, func(a, b cut) int { return a.seq.Compare(b.seq) })
	most := slices.MaxFunc(c.cuts, func(a, b cut) int { return a.seq.Compare(b.seq) })
	return least.seq, most.seq
}

// maintains reports whether writes keep the index of a signature up to date.
func (c *config) maintains(signature string) bool {
	return slices.ContainsFunc(c.interactive, func(e designEntry) bool { return e.interactive == signature })
}

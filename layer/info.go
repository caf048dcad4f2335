package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

// Info is what GET /{db} shows. Counters are exact; sizes are the bytes of bodies and attachments in the store, those that Compact would remove
// included: ExternalSize decoded, ActiveSize as stored.
type Info struct {
	Name, UUID                 string
	DocCount, DocDelCount      int64
	UpdateSeq                  Seq
	PurgeSeq                   int64
	ExternalSize, ActiveSize   int64
	Partitioned                bool
	Incarnation                int64
	Shards                     int
	SupersededBodies, RevLimit int64
	// Compacting is whether a job compacts the database, or is going to because somebody asked for it.
	Compacting bool
}

// Info reads the counters and the newest sequence at one read version.
func (d *Database) Info(ctx context.Context) (Info, error) {
	return read(ctx, d, func(t *txn) (Info, error) {
		last, compacting := readLastSeq(t.Snapshot(), t.keys, t.cfg), t.compacting()
		n, err := countersOf(t.Snapshot(), t.keys, counterDocs, counterDeleted, counterBodies, counterStored,
			counterContent, counterSuperseded, counterPurges)
		if err != nil {
			return Info{}, err
		}
		seq, err := last()
		if err != nil {
			return Info{}, err
		}
		running, err := compacting()
		return Info{
			Compacting: running,
			Name:       d.name, UUID: t.cfg.uuid,
			DocCount: n[0], DocDelCount: n[1],
			UpdateSeq:    seq,
			ExternalSize: n[2] + n[4], ActiveSize: n[2] + n[3],
			SupersededBodies: n[5], PurgeSeq: n[6],
			Partitioned: t.cfg.partitioned,
			Incarnation: t.cfg.incarnation,
			Shards:      len(t.cfg.current().Shards),
			RevLimit:    int64(t.cfg.revsLimit),
		}, err
	})
}

// LastSeq is the newest sequence of the database (since=now).
func (d *Database) LastSeq(ctx context.Context) (Seq, error) {
	return read(ctx, d, func(t *txn) (Seq, error) { return readLastSeq(t.Snapshot(), t.keys, t.cfg)() })
}

// WatchShard arms a watch on the shard's wake key (C7). It fires after the next commit of an entry in the shard, after a reshard and after the deletion of
// the database. seen is the newest sequence of the shard at the moment the watch was armed: read from it on, then wait. NotFound for a shard that never was.
func (d *Database) WatchShard(ctx context.Context, shard ShardID) (w kv.Watch, seen Seq, err error) {
	type armed struct {
		w    kv.Watch
		seen Seq
	}
	a, err := read(ctx, d, func(t *txn) (armed, error) {
		if t.cfg.mapOf(shard) < 0 {
			return armed{}, errNoShard(shard)
		}
		key := t.close(t.keys.wake(t.open(), shard))
		value, err := t.Get(key).Wait()
		if err != nil {
			return armed{}, err
		}
		seq, err := parseWake(value)
		if err != nil {
			return armed{}, err
		}
		return armed{t.Watch(key), seq}, nil
	})
	return a.w, a.seen, err
}

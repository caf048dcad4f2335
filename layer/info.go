package layer

import (
	"context"

	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// Info is the content of GET /{db}. Counters are exact. Sizes are in bytes. ActiveSize and ExternalSize are those of
// the leaves' bodies and attachments, as stored and decoded. FileSize is that of all stored bodies and attachments,
// including those that Compact would remove. What was superseded before FormatVersion 8 is active until it is removed.
type Info struct {
	Name, UUID                 string
	DocCount, DocDelCount      int64
	UpdateSeq                  db.Seq
	PurgeSeq                   int64
	ExternalSize, ActiveSize   int64
	FileSize                   int64
	Partitioned                bool
	Incarnation                int64
	Shards                     int
	SupersededBodies, RevLimit int64
	// Compacting reports whether a job is compacting the database, or will do so because of a request.
	Compacting bool
}

// Info reads the counters and the newest sequence at one read version.
func (d *Database) Info(ctx context.Context) (Info, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (Info, error) {
		last, compacting := db.ReadLastSeq(t.Snapshot(), t.Keys, t.Cfg), compact.Compacting(t)
		n, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs, db.CounterDeleted, db.CounterBodies,
			db.CounterStored,
			db.CounterContent, db.CounterSuperseded, db.CounterPurges, db.CounterOldBodies, db.CounterOldStored,
			db.CounterOldContent)
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
			Name:       d.Name(), UUID: t.Cfg.Uuid,
			DocCount: n[0], DocDelCount: n[1],
			UpdateSeq:    seq,
			ExternalSize: max(0, n[2]+n[4]-n[7]-n[9]), ActiveSize: max(0, n[2]+n[3]-n[7]-n[8]), FileSize: n[2] + n[3],
			SupersededBodies: n[5], PurgeSeq: n[6],
			Partitioned: t.Cfg.Partitioned,
			Incarnation: t.Cfg.Incarnation,
			Shards:      len(t.Cfg.Current().Shards),
			RevLimit:    int64(t.Cfg.RevsLimit),
		}, err
	})
}

// LastSeq returns the newest sequence of the database (since=now).
func (d *Database) LastSeq(ctx context.Context) (db.Seq, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (db.Seq, error) {
		return db.ReadLastSeq(t.Snapshot(), t.Keys, t.Cfg)()
	})
}

// WatchShard watches the shard's wake key (C7). The watch fires after the next commit of an entry in the shard, after a
// reshard, and after the deletion of the database. seen is the newest sequence of the shard when the watch begins: the
// caller reads the feed after it, then waits. WatchShard returns NotFound for a shard that never existed.
//
// settled, unless nil, is called as soon as the read version is known, before the shard is read and the watch begins: a
// read after the call sees everything committed before it, and later commits fire the watch. It is called again if the
// transaction is retried, and must not block.
func (d *Database) WatchShard(ctx context.Context, shard db.ShardID, settled func()) (
	w kv.Watch, seen db.Seq, err error,
) {
	type armed struct {
		w    kv.Watch
		seen db.Seq
	}
	a, err := db.Read(ctx, d.Database, func(t *db.Txn) (armed, error) {
		if t.Cfg.MapOf(shard) < 0 {
			return armed{}, db.ErrNoShard(shard)
		}
		if settled != nil {
			if _, err := t.ReadVersion().Wait(); err != nil {
				return armed{}, err
			}
			settled()
		}
		key := t.Close(t.Keys.Wake(t.Open(), shard))
		value, err := t.Get(key).Wait()
		if err != nil {
			return armed{}, err
		}
		seq, err := db.ParseWake(value)
		if err != nil {
			return armed{}, err
		}
		return armed{t.Watch(key), seq}, nil
	})
	return a.w, a.seen, err
}

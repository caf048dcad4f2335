package layer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/partition"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// ParseDesign parses a design document's body. The error is Invalid (invalid_design_doc) if a member has a type that
// CouchDB refuses. It does not compile the functions.
func ParseDesign(id string, rev Rev, body []byte) (*Design, error) {
	return design.ParseDesign(id, rev, body)
}

// SweepUploads runs the hourly sweep of one database as of a time.
func SweepUploads(ctx context.Context, d *Database, now time.Time) error {
	return attach.SweepUploads(ctx, d.Database, hoursIn(d.Store, time.Until(now)))
}

// RenewUploads renews a store's uploads as it will do after a time.
func RenewUploads(ctx context.Context, s *Store, after time.Duration) error {
	return attach.StateOf(s.Store).RenewUploads(ctx, hoursIn(s.Store, after).Store)
}

// SweepStore runs the hourly sweep as it will run after a time.
func SweepStore(ctx context.Context, s *Store, after time.Duration) error {
	now := hoursIn(s.Store, after)
	return errors.Join(
		s.Ids.Sweep(ctx, s.Engine, now),
		export.SweepImports(ctx, s.Store, now),
		s.EachDatabase(ctx, func(ctx context.Context, d *db.Database) error {
			return attach.SweepUploads(ctx, d, now)
		}),
	)
}

// ImportAbandoned imports a file and stops before the database gets its name, like a node that dies.
func ImportAbandoned(ctx context.Context, s *Store, file io.ReadSeeker) error {
	x, err := export.Scan(file)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	im := export.NewImporter(s.Store, x)
	if err := im.Reserve(ctx, "abandoned"); err != nil {
		return err
	}
	return im.Load(ctx, file)
}

// SweepImports sweeps as if some hours had passed.
func SweepImports(ctx context.Context, s *Store) error {
	return export.SweepImports(ctx, s.Store, hoursIn(s.Store, (export.ImportHours+2)*time.Hour))
}

// ClearTransactionIDs runs what the store does every second.
func ClearTransactionIDs(ctx context.Context, s *Store) error {
	return s.Ids.Clear(ctx, s.Engine)
}

// SweepTransactionIDs sweeps as if some hours had passed.
func SweepTransactionIDs(ctx context.Context, s *Store) error {
	return s.Ids.Sweep(ctx, s.Engine, hoursIn(s.Store, (db.IdHours+2)*time.Hour))
}

// hoursIn returns the time that it will be after d.
func hoursIn(s *db.Store, d time.Duration) db.Hours {
	h := s.Hours()
	return db.Hours{Store: h.Store + int64(d/time.Hour), Wall: h.Wall + int64(d/time.Hour)}
}

// SetWall sets a node's clock wrong by a time.
func SetWall(s *Store, by time.Duration) {
	s.Wall = func() time.Time { return time.Now().Add(by) }
}

// Clock returns the time by the store's clock, which began at version 0.
func Clock(s *Store) time.Duration { return db.Passing(s.Clock.Now()) }

// Later moves the store's clock.
func Later(s *Store, by time.Duration) { s.Clock.Saw(db.AfterVersion(s.Clock.Now(), by)) }

// OldJob writes a job as Divan did before jobs had heartbeats, due by the clock of the writer.
func OldJob(ctx context.Context, s *Store, j jobs.Job) error {
	_, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		jobs.WriteJob(s.Store, tx, &j)
		tx.Set(jobs.JobQueueKey(s.Store, &j), nil)
		return struct{}{}, nil
	})
	return err
}

// ClaimJob claims a job without watching the queue; nil where there is none to claim.
func ClaimJob(ctx context.Context, s *Store, typ string, w Worker) (*Job, error) {
	c, err := s.Claim(ctx, typ, w)
	if c.Watch != nil {
		c.Watch.Cancel()
	}
	return c.Job, err
}

// JobKey returns the key of a part of a job: 0 for its record, 3 for its heartbeat.
func JobKey(s *Store, typ string, part int64, id string) []byte {
	return tuple.AppendString(tuple.AppendInt(tuple.AppendString(s.Section(keyspace.Jobs), typ), part), id)
}

// QueueKey returns the key of a waiting job's entry in the queue.
func QueueKey(ctx context.Context, s *Store, typ, id string) ([]byte, error) {
	key, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) ([]byte, error) {
		j, err := jobs.ReadJob(s.Store, tx, typ, id)
		if err != nil {
			return nil, err
		}
		return jobs.JobQueueKey(s.Store, j), nil
	})
	return key, err
}

// WatchJobs watches the queue without claiming a job, and says which is next.
func (s *Store) WatchJobs(ctx context.Context, typ string, w Worker) (watch kv.Watch, next *DueJob, err error) {
	_, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (_ struct{}, err error) {
		if watch != nil {
			watch.Cancel()
		}
		watch = jobs.WatchQueue(s.Store, tx, typ)
		next, err = jobs.FirstDue(s.Store, tx, typ, w)
		return struct{}{}, err
	})
	return watch, next, err
}

// job of the index.
func (ix *Index) job() IndexJob {
	return IndexJob{Design: ix.Design().ID, Signature: ix.Design().Signature}
}

// StartBuild is Database.StartBuild of this index, for one node.
func (ix *Index) StartBuild(ctx context.Context, token int64) (*Build, error) {
	return ix.StartSharedBuild(ctx, token, 0)
}

// StartSharedBuild is Database.StartBuild of this index.
func (ix *Index) StartSharedBuild(ctx context.Context, token, share int64) (*Build, error) {
	return build.Of(ix.Db).StartBuild(ctx, ix.job(), token, BuildOptions{Share: share})
}

// StartTurn is Database.StartBuild of this index, after a turn.
func (ix *Index) StartTurn(ctx context.Context, token int64) (*Build, error) {
	return build.Of(ix.Db).StartBuild(ctx, ix.job(), token, BuildOptions{Turns: true})
}

// JoinBuild is Database.JoinBuild of this index.
func (ix *Index) JoinBuild(ctx context.Context, token int64, shard ShardID) (*Build, error) {
	return build.Of(ix.Db).JoinBuild(ctx, ix.job(), token, shard)
}

// OldLease is how long such a job is left alone.
const OldLease = jobs.OldLease

// Die ends a store's background work like a crash: nothing is cleaned up.
func Die(s *Store) {
	s.stop()
	s.done.Wait()
}

// CheckExportRecord parses a record of an export without the checksums that protect it in a file.
func CheckExportRecord(kind byte, payload []byte) error {
	switch t := export.RecordType(kind); t {
	case export.RecordHeader:
		return (&export.Header{}).Parse(payload)
	case export.RecordDocument:
		return (&export.Document{}).Parse(payload)
	case export.RecordLocal:
		return (&export.Local{}).Parse(payload)
	case export.RecordConfig:
		return (&export.Config{}).Parse(payload)
	case export.RecordPurge:
		return export.ParsePurge(payload)
	default:
		return export.CheckPart(t, payload)
	}
}

// OpenRevs returns all answers of EachOpenRev.
func (d *Database) OpenRevs(ctx context.Context, id string, revs []Rev, o GetOptions) ([]OpenRev, error) {
	var answers []OpenRev
	for a, err := range d.EachOpenRev(ctx, id, revs, o) {
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// Portions exports db.Portions.
type Portions struct{ p *db.Portions }

func NewPortions(most int) Portions { return Portions{db.NewPortions(most)} }

// Run runs transactions over items; see db.Portions.Run.
func (p Portions) Run(items int, transact func(n int, divisible bool) (done int, err error)) (int, error) {
	return p.p.Run(items, func(o kv.TransactOptions, n int, r *db.PartRun) (int, error) {
		return r.Attempt(n, func(n int) (int, error) { return transact(n, o.Divisible) })
	})
}

// ReadBudget is how many bytes a transaction reads before it takes no further items.
const ReadBudget = db.ReadBudget

// PurgeRevs is how many revisions are purged in one transaction.
const PurgeRevs = write.PurgeRevs

// RewriteRecord replaces the record of who has the name, as nodes of other versions do.
func (n *NodeName) RewriteRecord(ctx context.Context, f func(before []byte) []byte) error {
	_, _, err := db.StoreTransact(ctx, n.store, func(tx kv.Transaction) (struct{}, error) {
		before, err := tx.Get(n.key).Wait()
		if err == nil {
			tx.Set(n.key, f(before))
		}
		return struct{}{}, err
	})
	return err
}

// SetPatience sets how long Take waits for the answer to a question in the store.
func (n *NodeName) SetPatience(d time.Duration) { n.patience = d }

// TreeCache exports write.TreeCache.
type TreeCache struct{ c write.TreeCache }

// CachedRevisions is the most revisions that the trees of a TreeCache may have in total.
const CachedRevisions = rev.CachedRevisions

func (c *TreeCache) Put(key string, t *revtree.Tree) { c.c.Put(key, write.CachedTree{Tree: t}) }

func (c *TreeCache) Has(key string) bool { return c.c.Has(key) }

// Size returns the number of revisions in the cached trees.
func (c *TreeCache) Size() (n int) {
	for _, t := range c.c.Trees {
		n += t.Tree.Size()
	}
	return n
}

// IndexNumber returns the number that an index has in its keys; 0 means none.
func IndexNumber(ctx context.Context, ix *Index) (int64, error) {
	return db.Read(ctx, ix.Db, func(t *db.Txn) (int64, error) {
		k := ix.Keys(t.Keys)
		err := k.Find(t)()
		return k.Number, err
	})
}

// SignIndex makes an index look like one written before indexes had numbers: its keys have the signature, and its
// entries have no values.
func SignIndex(ctx context.Context, ix *Index) error {
	_, err := db.Read(ctx, ix.Db, func(t *db.Txn) (struct{}, error) {
		k := ix.Keys(t.Keys)
		if err := k.Find(t)(); err != nil || k.Number == 0 {
			return struct{}{}, err
		}
		signed := tuple.AppendString(k.All, k.Signature)
		it := db.GetRange(t, k.Data, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer it.Close()
		for it.Next() {
			row := it.KeyValue()
			key, value := append(signed[:len(signed):len(signed)], row.Key[len(k.Data):]...), bytes.Clone(row.Value)
			if bytes.HasPrefix(row.Key, k.AppendRange(nil, keyspace.ViewIDs)) {
				e, err := index.ParseViewEntry(value)
				if err != nil {
					return struct{}{}, err
				}
				value = appendFirstEntry(nil, e)
			}
			t.Set(key, value)
		}
		t.ClearRange(db.PrefixRange(k.Data))
		t.Clear(k.InfoKey(keyspace.ViewNumber))
		return struct{}{}, it.Err()
	})
	return err
}

// appendFirstEntry is AppendEntry in the first format.
func appendFirstEntry(dst []byte, e index.ViewEntry) []byte {
	dst = tuple.AppendInt(tuple.AppendInt(dst, 1), int64(len(e.Keys)))
	dst = tuple.AppendBool(tuple.AppendInt(dst, e.Size), e.Failed)
	for _, key := range e.Keys {
		dst = tuple.AppendBytes(dst, key)
	}
	return dst
}

// MapsQuickly marks a design's map functions as fast.
func MapsQuickly(d *design.Design) { d.MapTime.Store(0) }

// MapsSlowly marks a design's map functions as slow.
func MapsSlowly(d *design.Design) { d.MapTime.Store(int64(2 * design.SlowMap)) }

// AheadDocs is the most documents that a query maps itself when it is ahead of its index.
const AheadDocs = query.AheadDocs

// FeedShape is the size of the blocks in which changes are counted.
type FeedShape struct {
	LeafBits, LevelBits int
	Sparse              int64
	Least               int
}

// DefaultFeedShape is the shape in every store.
var DefaultFeedShape = FeedShape{feed.DefaultShape.LeafBits, feed.DefaultShape.LevelBits, feed.DefaultShape.Sparse,
	feed.DefaultShape.Least}

// SetFeedShape makes blocks so small that a test fills many. It must be called before anything is written or counted.
func SetFeedShape(s *Store, f FeedShape) {
	feed.StateOf(s.Store).Shape = feed.Shape{LeafBits: f.LeafBits, LevelBits: f.LevelBits, Sparse: f.Sparse,
		Least: f.Least}
}

// CloseFeed counts up to most entries of the feed in one transaction.
func CloseFeed(ctx context.Context, d *Database, most int) (more bool, err error) {
	_, err = db.ReadPart(ctx, d.Database, db.NewPortions(most), 0, func(t *db.Txn, n int) (done int, err error) {
		done, more, err = feed.CloseSome(t, n)
		return done, err
	})
	return more, err
}

// ReadFew returns o for a check that reads few rows in a transaction if the engine does not support snapshots.
func ReadFew(o check.VerifyOptions, rows int) check.VerifyOptions {
	o.Rows = rows
	return o
}

// RememberFew returns o for a check that goes through the bodies again for every few superseded ones.
func RememberFew(o check.VerifyOptions, most int64) check.VerifyOptions {
	o.Remember = most
	return o
}

// KeysOf returns the range of keys of a database.
func KeysOf(d *Database) kv.KeyRange { return db.PrefixRange(d.Core.Load().Keys.Prefix) }

// DivideListsInto makes lists of documents have ranges of about that many documents, or of the usual number if it is 0,
// however long a reader has to divide them.
func DivideListsInto(s *Store, documents int64) {
	state := alldocs.StateOf(s.Store)
	state.Piece, state.DivideTime = documents, time.Minute
}

// CutList cuts ranges that begin at some ids off the one that an id is in, and leaves them unsettled.
func CutList(ctx context.Context, d *Database, of string, firsts ...string) error {
	division := alldocs.Division{Database: d.Database}
	p, err := division.Plan(ctx, of)
	if err != nil {
		return err
	}
	return division.Cut(ctx, p.Number, firsts)
}

// SettleList settles some of the unsettled ranges of the list of documents, or all.
func SettleList(ctx context.Context, d *Database, most int) error {
	division := alldocs.Division{Database: d.Database}
	p, err := division.Plan(ctx, "")
	if err != nil {
		return err
	}
	return division.Settle(ctx, p.Unsettled[:min(most, len(p.Unsettled))])
}

// MergeList merges ranges of the list of documents that have at most that many documents together.
func MergeList(ctx context.Context, d *Database, documents int64) (int, error) {
	return alldocs.Division{Database: d.Database}.Merge(ctx, documents)
}

// AddToRange adds to the counter of the range of the list of documents that an id is in, or to one of no range, as no
// writer does.
func AddToRange(ctx context.Context, d *Database, id string, n int64) error {
	_, _, err := db.Transact(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		number := int64(99)
		if id != "" {
			number = t.Cfg.DocRangeNumber(t.Cfg.DocRangeOf(id))
		}
		if key := t.Keys.DocCount(nil, number); id == "" && n < 0 {
			t.Clear(key)
		} else {
			t.Atomic(kv.AtomicAdd, key, db.LittleEndian(n))
		}
		return struct{}{}, nil
	})
	return err
}

// ForgetPartitionCounts leaves a partitioned database as a version of Divan without counters of partitions did.
func ForgetPartitionCounts(ctx context.Context, d *Database) error {
	_, _, err := db.Transact(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		for _, counter := range db.PartitionCounters[:5] { // the others are newer
			t.ClearRange(db.PrefixRange(t.Keys.Counter(nil, counter)))
		}
		t.Clear(t.Keys.Config(nil, db.ConfigPartitionCounts))
		return struct{}{}, nil
	})
	return err
}

// RecountPartitions counts the partitions of a database that is older than their counters.
func RecountPartitions(ctx context.Context, d *Database) error {
	return partition.Recount(ctx, d.Database)
}

// PartitionsCounted reports whether the counters of partitions are exact.
func PartitionsCounted(ctx context.Context, d *Database) (bool, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (bool, error) { return partition.Counted(t.Snapshot(), t.Keys) })
}

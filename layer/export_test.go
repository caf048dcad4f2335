package layer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// ParseDesign reads a design document's body. Invalid (invalid_design_doc) where a member has a type that CouchDB
// refuses. It does not compile the functions.
func ParseDesign(id string, rev Rev, body []byte) (*Design, error) {
	return design.ParseDesign(id, rev, body)
}

// SweepUploads runs the hourly sweep of one database as it will be at a time.
func SweepUploads(ctx context.Context, d *Database, now time.Time) error {
	return attach.SweepUploads(ctx, d.Database, hoursIn(d.Store, time.Until(now)))
}

// RenewUploads renews a store's uploads as it will after a time.
func RenewUploads(ctx context.Context, s *Store, after time.Duration) error {
	return attach.StateOf(s.Store).RenewUploads(ctx, hoursIn(s.Store, after).Store)
}

// SweepStore runs the hourly sweep as it will be after a time.
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

// ImportAbandoned imports a file and stops before the database gets its name, as a node that dies.
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

// hoursIn is the present as it will be.
func hoursIn(s *db.Store, d time.Duration) db.Hours {
	h := s.Hours()
	return db.Hours{Store: h.Store + int64(d/time.Hour), Wall: h.Wall + int64(d/time.Hour)}
}

// SetWall makes a node's clock wrong.
func SetWall(s *Store, by time.Duration) {
	s.Wall = func() time.Time { return time.Now().Add(by) }
}

// OldJob writes a job as Divan did before it had heartbeats, due by the clock of whoever wrote it.
func OldJob(ctx context.Context, s *Store, j jobs.Job) error {
	_, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		jobs.WriteJob(s.Store, tx, &j)
		tx.Set(jobs.JobQueueKey(s.Store, &j), nil)
		return struct{}{}, nil
	})
	return err
}

// OldLease is how long such a job is left alone.
const OldLease = jobs.OldLease

// Die ends a store's background work as a crash does: nothing is cleared.
func Die(s *Store) {
	s.stop()
	s.done.Wait()
}

// CheckExportRecord reads a record of an export, past the checksums that guard it in a file.
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

// Portions is a portions for tests.
type Portions struct{ p *db.Portions }

func NewPortions(most int) Portions { return Portions{db.NewPortions(most)} }

// Run runs transactions over as many items as there are; see portions.run.
func (p Portions) Run(items int, transact func(n int, divisible bool) (done int, err error)) (int, error) {
	return p.p.Run(items, func(o kv.TransactOptions, n int, r *db.PartRun) (int, error) {
		return r.Attempt(n, func(n int) (int, error) { return transact(n, o.Divisible) })
	})
}

// ReadBudget is how many bytes a transaction reads before it takes no further items.
const ReadBudget = db.ReadBudget

// PurgeRevs is how many revisions are purged in one transaction.
const PurgeRevs = write.PurgeRevs

// SetPatience sets how long Take waits for the answer to a question in the store.
func (n *NodeName) SetPatience(d time.Duration) { n.patience = d }

// TreeCache is a TreeCache for tests.
type TreeCache struct{ c write.TreeCache }

// CachedRevisions is how many revisions the trees of a TreeCache have together at most.
const CachedRevisions = rev.CachedRevisions

func (c *TreeCache) Put(key string, t *revtree.Tree) { c.c.Put(key, write.CachedTree{Tree: t}) }

func (c *TreeCache) Has(key string) bool { return c.c.Has(key) }

// Size is how many revisions the trees have that are kept.
func (c *TreeCache) Size() (n int) {
	for _, t := range c.c.Trees {
		n += t.Tree.Size()
	}
	return n
}

// IndexNumber is the number that an index has in its keys; 0: none.
func IndexNumber(ctx context.Context, ix *Index) (int64, error) {
	return db.Read(ctx, ix.Db, func(t *db.Txn) (int64, error) {
		k := ix.Keys(t.Keys)
		err := k.Find(t)()
		return k.Number, err
	})
}

// SignIndex makes an index one that was written before indexes had numbers: its keys have the signature, and its
// entries nothing of values.
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

// MapsQuickly has a design's map functions not be known as slow.
func MapsQuickly(d *design.Design) { d.MapTime.Store(0) }

// MapsSlowly is the contrary.
func MapsSlowly(d *design.Design) { d.MapTime.Store(int64(2 * design.SlowMap)) }

// AheadDocs is how many documents a query ahead of its index works out at most.
const AheadDocs = query.AheadDocs

// FeedShape is how large the blocks are that changes are counted by.
type FeedShape struct {
	LeafBits, LevelBits int
	Sparse              int64
	Least               int
}

// DefaultFeedShape is the one of every store.
var DefaultFeedShape = FeedShape{feed.DefaultShape.LeafBits, feed.DefaultShape.LevelBits, feed.DefaultShape.Sparse,
	feed.DefaultShape.Least}

// SetFeedShape makes blocks so small that a test fills many. Before anything is written or counted.
func SetFeedShape(s *Store, f FeedShape) {
	feed.StateOf(s.Store).Shape = feed.Shape{LeafBits: f.LeafBits, LevelBits: f.LevelBits, Sparse: f.Sparse,
		Least: f.Least}
}

// CloseFeed has one transaction count so many entries of the feed.
func CloseFeed(ctx context.Context, d *Database, most int) (more bool, err error) {
	_, err = db.ReadPart(ctx, d.Database, db.NewPortions(most), 0, func(t *db.Txn, n int) (done int, err error) {
		done, more, err = feed.CloseSome(t, n)
		return done, err
	})
	return more, err
}

// ReadFew is o for a check that reads few rows in a transaction, where the engine holds no snapshot.
func ReadFew(o check.VerifyOptions, rows int) check.VerifyOptions {
	o.Rows = rows
	return o
}

// RememberFew is o for a check that goes through the bodies for every few of those that were superseded.
func RememberFew(o check.VerifyOptions, most int64) check.VerifyOptions {
	o.Remember = most
	return o
}

// KeysOf are the keys of a database.
func KeysOf(d *Database) kv.KeyRange { return db.PrefixRange(d.Core.Load().Keys.Prefix) }

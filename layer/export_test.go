package layer

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// SweepUploads runs the hourly sweep of one database as it will be at a time.
func SweepUploads(ctx context.Context, d *Database, now time.Time) error {
	return d.sweepUploads(ctx, d.store.hoursIn(time.Until(now)))
}

// RenewUploads renews a store's uploads as it will after a time.
func RenewUploads(ctx context.Context, s *Store, after time.Duration) error {
	return attachOf(s.dbStore).renewUploads(ctx, s.hoursIn(after).store)
}

// SweepStore runs the hourly sweep as it will be after a time.
func SweepStore(ctx context.Context, s *Store, after time.Duration) error {
	return s.sweep(ctx, s.hoursIn(after))
}

// ImportAbandoned imports a file and stops before the database gets its name, as a node that dies.
func ImportAbandoned(ctx context.Context, s *Store, file io.ReadSeeker) error {
	x, err := readExport(file)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	im := newImporter(s.dbStore, x)
	if err := im.reserve(ctx, "abandoned"); err != nil {
		return err
	}
	return im.load(ctx, file)
}

// SweepImports sweeps as if some hours had passed.
func SweepImports(ctx context.Context, s *Store) error {
	return s.sweepImports(ctx, s.hoursIn((importHours+2)*time.Hour))
}

// ClearTransactionIDs runs what the store does every second.
func ClearTransactionIDs(ctx context.Context, s *Store) error {
	return s.ids.clear(ctx, s.engine)
}

// SweepTransactionIDs sweeps as if some hours had passed.
func SweepTransactionIDs(ctx context.Context, s *Store) error {
	return s.ids.sweep(ctx, s.engine, s.hoursIn((idHours+2)*time.Hour))
}

// hoursIn is the present as it will be.
func (s *dbStore) hoursIn(d time.Duration) hours {
	h := s.hours()
	return hours{store: h.store + int64(d/time.Hour), wall: h.wall + int64(d/time.Hour)}
}

// SetWall makes a node's clock wrong.
func SetWall(s *Store, by time.Duration) {
	s.wall = func() time.Time { return time.Now().Add(by) }
}

// OldJob writes a job as Divan did before it had heartbeats, due by the clock of whoever wrote it.
func OldJob(ctx context.Context, s *Store, j Job) error {
	_, _, err := storeTransact(ctx, s.dbStore, func(tx kv.Transaction) (struct{}, error) {
		s.writeJob(tx, &j)
		tx.Set(s.jobQueueKey(&j), nil)
		return struct{}{}, nil
	})
	return err
}

// OldLease is how long such a job is left alone.
const OldLease = oldLease

// Die ends a store's background work as a crash does: nothing is cleared.
func Die(s *Store) {
	s.stop()
	s.done.Wait()
}

// CheckExportRecord reads a record of an export, past the checksums that guard it in a file.
func CheckExportRecord(kind byte, payload []byte) error {
	switch t := recordType(kind); t {
	case recordHeader:
		return (&exportHeader{}).parse(payload)
	case recordDocument:
		return (&exportedDocument{}).parse(payload)
	case recordLocal:
		return (&exportedLocal{}).parse(payload)
	case recordConfig:
		return (&exportConfig{}).parse(payload)
	case recordPurge:
		return parsePurge(payload)
	default:
		return checkPart(t, payload)
	}
}

// Portions is a portions for tests.
type Portions struct{ p *portions }

func NewPortions(most int) Portions { return Portions{newPortions(most)} }

// Run runs transactions over as many items as there are; see portions.run.
func (p Portions) Run(items int, transact func(n int, divisible bool) (done int, err error)) (int, error) {
	return p.p.run(items, func(o kv.TransactOptions, n int, r *partRun) (int, error) {
		return r.attempt(n, func(n int) (int, error) { return transact(n, o.Divisible) })
	})
}

// ReadBudget is how many bytes a transaction reads before it takes no further items.
const ReadBudget = readBudget

// PurgeRevs is how many revisions are purged in one transaction.
const PurgeRevs = purgeRevs

// SetPatience sets how long Take waits for the answer to a question in the store.
func (n *NodeName) SetPatience(d time.Duration) { n.patience = d }

// TreeCache is a treeCache for tests.
type TreeCache struct{ c treeCache }

// CachedRevisions is how many revisions the trees of a treeCache have together at most.
const CachedRevisions = cachedRevisions

func (c *TreeCache) Put(key string, t *revtree.Tree) { c.c.put(key, cachedTree{tree: t}) }

func (c *TreeCache) Has(key string) bool { return c.c.has(key) }

// Size is how many revisions the trees have that are kept.
func (c *TreeCache) Size() (n int) {
	for _, t := range c.c.trees {
		n += t.tree.Size()
	}
	return n
}

// IndexNumber is the number that an index has in its keys; 0: none.
func IndexNumber(ctx context.Context, ix *Index) (int64, error) {
	return read(ctx, ix.db, func(t *txn) (int64, error) {
		k := ix.keys(t.keys)
		err := k.find(t)()
		return k.number, err
	})
}

// SignIndex makes an index one that was written before indexes had numbers: its keys have the signature, and its
// entries nothing of values.
func SignIndex(ctx context.Context, ix *Index) error {
	_, err := read(ctx, ix.db, func(t *txn) (struct{}, error) {
		k := ix.keys(t.keys)
		if err := k.find(t)(); err != nil || k.number == 0 {
			return struct{}{}, err
		}
		signed := tuple.AppendString(k.all, k.signature)
		it := getRange(t, k.data, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer it.Close()
		for it.Next() {
			row := it.KeyValue()
			key, value := append(signed[:len(signed):len(signed)], row.Key[len(k.data):]...), bytes.Clone(row.Value)
			if bytes.HasPrefix(row.Key, k.appendRange(nil, keyspace.ViewIDs)) {
				e, err := parseViewEntry(value)
				if err != nil {
					return struct{}{}, err
				}
				value = appendFirstEntry(nil, e)
			}
			t.Set(key, value)
		}
		t.ClearRange(prefixRange(k.data))
		t.Clear(k.infoKey(keyspace.ViewNumber))
		return struct{}{}, it.Err()
	})
	return err
}

// appendFirstEntry is appendEntry in the first format.
func appendFirstEntry(dst []byte, e viewEntry) []byte {
	dst = tuple.AppendInt(tuple.AppendInt(dst, 1), int64(len(e.keys)))
	dst = tuple.AppendBool(tuple.AppendInt(dst, e.size), e.failed)
	for _, key := range e.keys {
		dst = tuple.AppendBytes(dst, key)
	}
	return dst
}

// MapsQuickly has a design's map functions not be known as slow.
func MapsQuickly(d *Design) { d.mapTime.Store(0) }

// MapsSlowly is the contrary.
func MapsSlowly(d *Design) { d.mapTime.Store(int64(2 * slowMap)) }

// AheadDocs is how many documents a query ahead of its index works out at most.
const AheadDocs = aheadDocs

// FeedShape is how large the blocks are that changes are counted by.
type FeedShape struct {
	LeafBits, LevelBits int
	Sparse              int64
	Least               int
}

// DefaultFeedShape is the one of every store.
var DefaultFeedShape = FeedShape{defaultShape.leafBits, defaultShape.levelBits, defaultShape.sparse, defaultShape.least}

// SetFeedShape makes blocks so small that a test fills many. Before anything is written or counted.
func SetFeedShape(s *Store, f FeedShape) {
	feedOf(s.dbStore).shape = feedShape{leafBits: f.LeafBits, levelBits: f.LevelBits, sparse: f.Sparse, least: f.Least}
}

// CloseFeed has one transaction count so many entries of the feed.
func CloseFeed(ctx context.Context, d *Database, most int) (more bool, err error) {
	_, err = readPart(ctx, d, newPortions(most), 0, func(t *txn, n int) (done int, err error) {
		done, more, err = t.closeSome(n)
		return done, err
	})
	return more, err
}

// ReadFew is o for a check that reads few rows in a transaction, where the engine holds no snapshot.
func ReadFew(o VerifyOptions, rows int) VerifyOptions {
	o.rows = rows
	return o
}

// RememberFew is o for a check that goes through the bodies for every few of those that were superseded.
func RememberFew(o VerifyOptions, most int64) VerifyOptions {
	o.remember = most
	return o
}

// KeysOf are the keys of a database.
func KeysOf(d *Database) kv.KeyRange { return prefixRange(d.core.Load().keys.prefix) }

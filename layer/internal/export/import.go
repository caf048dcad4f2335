package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

const (
	// importBytes is how much of a file one transaction handles, except for a single larger record. The largest body
	// with its history is below kv.MaxTransactionSize.
	importBytes = 1_000_000
	importRows  = 500
	// ImportHours is after how many full hours without progress an import counts as abandoned.
	ImportHours = 2
)

// Import creates a database from what Export wrote (C8): the same documents, revisions and sequences under the given
// name. Consumers of the original database can continue from their sequences. New writes get the next incarnation.
//
// The whole file is checked before anything is written: Import returns Invalid (bad_export) if it is damaged,
// incomplete or not an export. The database becomes visible when it is complete. What a failed import has written is
// removed, after some hours at the latest. Import returns Exists if there is a database with that name.
func (s Store) Import(ctx context.Context, name string, r io.ReadSeeker) (*db.Database, error) {
	if err := db.ValidateName(name); err != nil {
		return nil, err
	}
	x, err := Scan(r)
	switch {
	case errors.Is(err, ErrExport):
		return nil, &fault.Error{Kind: fault.Invalid, Name: "bad_export", Reason: err.Error()}
	case err != nil:
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	im := NewImporter(s.Store, x)
	if err := im.Reserve(ctx, name); err != nil {
		return nil, err
	}
	if err := im.Load(ctx, r); err != nil {
		return nil, errors.Join(fmt.Errorf("importing into %s: %w", name, err), im.abandon())
	}
	created, err := im.publish(ctx, name)
	if err != nil {
		return nil, errors.Join(err, im.abandon())
	}
	s.Created(name)
	d := s.Handle(s.Known.Remember(db.NewCore(s.Root, name, im.core.Number, created)))
	d.Pinned.Store(true)
	return d, nil
}

// importer fills a database that has no name yet.
type importer struct {
	s      *db.Store
	header Header
	config Config
	core   *db.Core
	cfg    *db.Config
	marker []byte // key that marks the prefix number as being imported
	infos  int64  // number of purges in the history
	doc    importedDoc

	portions *db.Portions // of records
}

// NewImporter returns an importer for a file that Scan has checked.
func NewImporter(s *db.Store, x *exportReading) *importer {
	return &importer{s: s, header: x.header, config: x.config, infos: x.infos, portions: db.NewPortions(importRows)}
}

// transact runs fn in a transaction that checks and renews the marker.
func (im *importer) transact(ctx context.Context, fn func(t *db.Txn) error) (kv.Versionstamp, error) {
	_, c, err := db.StoreTransact(ctx, im.s, func(tx kv.Transaction) (int, error) {
		return im.reserved(ctx, tx, func(t *db.Txn) (int, error) { return 0, fn(t) })
	})
	return c.Versionstamp, err
}

// transactPart is transact for as many items as a transaction may take.
func (im *importer) transactPart(ctx context.Context, items int, fn func(t *db.Txn, n int) (int, error)) (int, error) {
	n, _, err := db.StorePart(ctx, im.s, im.portions, items, func(tx kv.Transaction, n int) (int, error) {
		return im.reserved(ctx, tx, func(t *db.Txn) (int, error) { return fn(t, n) })
	})
	return n, err
}

func (im *importer) reserved(ctx context.Context, tx kv.Transaction, fn func(t *db.Txn) (int, error)) (int, error) {
	hour, err := tx.Get(im.marker).Wait()
	if err != nil {
		return 0, err
	}
	if hour == nil {
		return 0, fault.Errf(fault.Conflict, "import_abandoned",
			"the import made no progress for hours and was abandoned")
	}
	if now := tuple.AppendInt(nil, im.s.Clock.Hour()); string(now) != string(hour) {
		tx.Set(im.marker, now)
	}
	t := &db.Txn{Transaction: tx, Ctx: ctx, Db: im.s.Handle(im.core), Core: im.core, Keys: im.core.Keys, Cfg: im.cfg}
	n, err := fn(t)
	if err == nil {
		t.Finish()
	}
	return n, err
}

// Reserve allocates a prefix number.
func (im *importer) Reserve(ctx context.Context, name string) error {
	number, _, err := db.StoreTransact(ctx, im.s, func(tx kv.Transaction) (int64, error) {
		number, err := im.s.FreshPrefix(tx, name)
		if err != nil {
			return 0, err
		}
		tx.Set(importKey(im.s, number), tuple.AppendInt(nil, im.s.Clock.Hour()))
		return number, nil
	})
	if err != nil {
		return err
	}
	im.core = db.NewCore(im.s.Root, name, number, kv.Versionstamp{})
	im.marker = importKey(im.s, number)
	im.cfg = &db.Config{Maps: im.config.maps, Partitioned: im.config.partitioned,
		Incarnation: max(im.header.incarnation, im.config.last.Incarnation) + 1}
	return nil
}

// importKey is (DatabasePrefixes, number) = the hour of an import's last progress.
func importKey(s *db.Store, number int64) []byte {
	return tuple.AppendInt(s.Section(keyspace.DatabasePrefixes), number)
}

// publish writes the database's configuration and its name. It returns the versionstamp of its creation.
func (im *importer) publish(ctx context.Context, name string) (kv.Versionstamp, error) {
	return im.transact(ctx, func(t *db.Txn) error {
		old, err := t.Get(im.s.NameKey(name)).Wait()
		if err != nil {
			return err
		}
		if old != nil {
			return db.ErrExists()
		}
		t.Clear(im.marker)
		im.s.SetName(t, name, im.core.Number)
		set := func(setting string, value []byte) { t.Set(t.Keys.Config(nil, setting), value) }
		set(db.ConfigUUID, []byte(im.header.uuid))
		set(db.ConfigIncarnation, tuple.AppendInt(nil, im.cfg.Incarnation))
		set(db.ConfigRevsLimit, tuple.AppendInt(nil, int64(im.config.revsLimit)))
		set(db.ConfigPurgesLimit, tuple.AppendInt(nil, int64(im.config.purgesLimit)))
		// Otherwise it may never have been set.
		if string(im.config.security) != "{}" {
			set(db.ConfigSecurity, im.config.security)
		}
		if im.config.partitioned {
			set(db.ConfigPartitioned, tuple.AppendBool(nil, true))
		}
		for i := range im.cfg.Maps {
			m := &im.cfg.Maps[i]
			t.Set(m.Since.AppendTuple(t.Keys.Config(nil, db.ConfigShards)), m.AppendValue(nil))
		}
		for _, id := range im.cfg.Current().Subspaces() {
			t.Set(t.Keys.Wake(nil, id), im.config.last.AppendTuple(nil))
		}
		t.Count(db.CounterPurges, im.config.purges)
		t.Count(db.CounterPurgesDropped, im.config.purges-im.infos)
		t.Restamp = true
		return build.SettleIndexes(im.s, t, name)
	})
}

// abandon removes what was written. What it cannot remove is swept later.
func (im *importer) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return dropImport(ctx, im.s, im.core.Number)
}

func dropImport(ctx context.Context, s *db.Store, number int64) error {
	_, _, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		there, err := tx.Get(importKey(s, number)).Wait()
		if err != nil || there == nil {
			return struct{}{}, err // already published or removed
		}
		prefix := db.NewCore(s.Root, "", number, kv.Versionstamp{}).Keys.Prefix
		end, err := tuple.Strinc(prefix)
		if err != nil {
			return struct{}{}, err
		}
		tx.MakesRoom()
		tx.ClearRange(kv.KeyRange{Begin: prefix, End: end})
		tx.Clear(importKey(s, number))
		return struct{}{}, nil
	})
	return err
}

// SweepImports removes what the imports of dead nodes have left behind.
func SweepImports(ctx context.Context, s *db.Store, now db.Hours) error {
	prefix := s.Section(keyspace.DatabasePrefixes)
	var old []int64
	err := db.Scan(ctx, s.Engine, db.PrefixRange(prefix), false, func(row kv.KeyValue) (bool, error) {
		number, _, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return false, db.Corrupt("import", err)
		}
		hour, _, err := tuple.TakeInt(row.Value)
		if err != nil {
			return false, db.Corrupt("import", err)
		}
		if now.Before(hour, ImportHours) {
			old = append(old, number)
		}
		return true, nil
	})
	for _, number := range old {
		if err == nil {
			err = dropImport(ctx, s, number)
		}
	}
	return err
}

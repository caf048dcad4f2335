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
	// importBytes is how much of a file one transaction takes up, a single larger record excepted: the largest body and
	// its history stay below kv.MaxTransactionSize.
	importBytes = 1_000_000
	importRows  = 500
	// ImportHours is after how many full hours without a step an import counts as abandoned.
	ImportHours = 2
)

// Import makes a database of what Export wrote (C8): the same documents, revisions and sequences under the name given,
// which the original's consumers follow from their old sequences. What is written from now on has the next incarnation.
//
// The whole file is checked before anything is written: Invalid (name bad_export) where it is damaged, incomplete or
// none. The database appears when it is complete; of an import that fails nothing stays, at the latest after some
// hours. Exists where there is a database of that name.
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
	marker []byte // key that says that the prefix number is being filled
	infos  int64  // purges that the database will remember
	doc    importedDoc

	portions *db.Portions // of records
}

func NewImporter(s *db.Store, x *exportReading) *importer {
	return &importer{s: s, header: x.header, config: x.config, infos: x.infos, portions: db.NewPortions(importRows)}
}

// transact runs fn in a transaction that holds on to the reservation.
func (im *importer) transact(ctx context.Context, fn func(t *db.Txn) error) (kv.Versionstamp, error) {
	_, c, err := db.StoreTransact(ctx, im.s, func(tx kv.Transaction) (int, error) {
		return im.reserved(ctx, tx, func(t *db.Txn) (int, error) { return 0, fn(t) })
	})
	return c.Versionstamp, err
}

// transactPart is transact over as many of some items as a transaction may take.
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
		return 0, fault.Errf(fault.Conflict, "import_abandoned", "the import took no step for hours and was given up")
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

// Reserve takes a prefix number.
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

// importKey is (DatabasePrefixes, number) = the hour of an import's last step.
func importKey(s *db.Store, number int64) []byte {
	return tuple.AppendInt(s.Section(keyspace.DatabasePrefixes), number)
}

// publish gives the database its configuration and its name, and returns when it was created.
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
		if string(im.config.security) != "{}" { // otherwise nobody may have set it
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

// abandon removes what was written; what it cannot remove is swept.
func (im *importer) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return dropImport(ctx, im.s, im.core.Number)
}

func dropImport(ctx context.Context, s *db.Store, number int64) error {
	_, _, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		there, err := tx.Get(importKey(s, number)).Wait()
		if err != nil || there == nil {
			return struct{}{}, err // published, or dropped
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

// SweepImports removes what imports left behind whose node has died.
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

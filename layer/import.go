package layer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

const (
	// importBytes is how much of a file one transaction takes up, a single larger record excepted: the largest body and its history stay below
	// kv.MaxTransactionSize.
	importBytes = 1_000_000
	importRows  = 500
	// importHours is after how many full hours without a step an import counts as abandoned.
	importHours = 2
)

// Import makes a database of what Export wrote (C8): the same documents, revisions and sequences under the name given, which the original's
// consumers follow from their old sequences. What is written from now on has the next incarnation.
//
// The whole file is checked before anything is written: Invalid (name bad_export) where it is damaged, incomplete or none. The database appears when
// it is complete; of an import that fails nothing stays, at the latest after some hours. Exists where there is a database of that name.
func (s *dbStore) Import(ctx context.Context, name string, r io.ReadSeeker) (*Database, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	x, err := readExport(r)
	switch {
	case errors.Is(err, ErrExport):
		return nil, &Error{Kind: Invalid, Name: "bad_export", Reason: err.Error()}
	case err != nil:
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	im := newImporter(s, x)
	if err := im.reserve(ctx, name); err != nil {
		return nil, err
	}
	if err := im.load(ctx, r); err != nil {
		return nil, errors.Join(fmt.Errorf("importing into %s: %w", name, err), im.abandon())
	}
	created, err := im.publish(ctx, name)
	if err != nil {
		return nil, errors.Join(err, im.abandon())
	}
	d := s.handle(s.known.remember(newCore(s.root, name, im.core.number, created)))
	d.pinned.Store(true)
	return d, nil
}

// importer fills a database that has no name yet.
type importer struct {
	s      *dbStore
	header exportHeader
	config exportConfig
	core   *core
	cfg    *config
	marker []byte // key that says that the prefix number is being filled
	infos  int64  // purges that the database will remember
	doc    importedDoc

	portions *portions // of records
}

func newImporter(s *dbStore, x *exportReading) *importer {
	return &importer{s: s, header: x.header, config: x.config, infos: x.infos, portions: newPortions(importRows)}
}

// transact runs fn in a transaction that holds on to the reservation.
func (im *importer) transact(ctx context.Context, fn func(t *txn) error) (kv.Versionstamp, error) {
	_, c, err := storeTransact(ctx, im.s, func(tx kv.Transaction) (int, error) {
		return im.reserved(ctx, tx, func(t *txn) (int, error) { return 0, fn(t) })
	})
	return c.Versionstamp, err
}

// transactPart is transact over as many of some items as a transaction may take.
func (im *importer) transactPart(ctx context.Context, items int, fn func(t *txn, n int) (int, error)) (int, error) {
	n, _, err := storePart(ctx, im.s, im.portions, items, func(tx kv.Transaction, n int) (int, error) {
		return im.reserved(ctx, tx, func(t *txn) (int, error) { return fn(t, n) })
	})
	return n, err
}

func (im *importer) reserved(ctx context.Context, tx kv.Transaction, fn func(t *txn) (int, error)) (int, error) {
	hour, err := tx.Get(im.marker).Wait()
	if err != nil {
		return 0, err
	}
	if hour == nil {
		return 0, errf(Conflict, "import_abandoned", "the import took no step for hours and was given up")
	}
	if now := tuple.AppendInt(nil, im.s.clock.hour()); string(now) != string(hour) {
		tx.Set(im.marker, now)
	}
	t := &txn{Transaction: tx, ctx: ctx, db: im.s.handle(im.core), core: im.core, keys: im.core.keys, cfg: im.cfg}
	n, err := fn(t)
	if err == nil {
		t.finish()
	}
	return n, err
}

// reserve takes a prefix number.
func (im *importer) reserve(ctx context.Context, name string) error {
	number, _, err := storeTransact(ctx, im.s, func(tx kv.Transaction) (int64, error) {
		number, err := im.s.freshPrefix(tx, name)
		if err != nil {
			return 0, err
		}
		tx.Set(im.s.importKey(number), tuple.AppendInt(nil, im.s.clock.hour()))
		return number, nil
	})
	if err != nil {
		return err
	}
	im.core = newCore(im.s.root, name, number, kv.Versionstamp{})
	im.marker = im.s.importKey(number)
	im.cfg = &config{maps: im.config.maps, partitioned: im.config.partitioned, incarnation: max(im.header.incarnation, im.config.last.Incarnation) + 1}
	return nil
}

// importKey is (DatabasePrefixes, number) = the hour of an import's last step.
func (s *dbStore) importKey(number int64) []byte {
	return tuple.AppendInt(s.section(keyspace.DatabasePrefixes), number)
}

// publish gives the database its configuration and its name, and returns when it was created.
func (im *importer) publish(ctx context.Context, name string) (kv.Versionstamp, error) {
	return im.transact(ctx, func(t *txn) error {
		old, err := t.Get(im.s.nameKey(name)).Wait()
		if err != nil {
			return err
		}
		if old != nil {
			return errExists()
		}
		t.Clear(im.marker)
		im.s.setName(t, name, im.core.number)
		set := func(setting string, value []byte) { t.Set(t.keys.config(nil, setting), value) }
		set(configUUID, []byte(im.header.uuid))
		set(configIncarnation, tuple.AppendInt(nil, im.cfg.incarnation))
		set(configRevsLimit, tuple.AppendInt(nil, int64(im.config.revsLimit)))
		set(configPurgesLimit, tuple.AppendInt(nil, int64(im.config.purgesLimit)))
		if string(im.config.security) != "{}" { // otherwise nobody may have set it
			set(configSecurity, im.config.security)
		}
		if im.config.partitioned {
			set(configPartitioned, tuple.AppendBool(nil, true))
		}
		for i := range im.cfg.maps {
			m := &im.cfg.maps[i]
			t.Set(m.Since.appendTuple(t.keys.config(nil, configShards)), m.appendValue(nil))
		}
		for _, id := range im.cfg.current().subspaces() {
			t.Set(t.keys.wake(nil, id), im.config.last.appendTuple(nil))
		}
		t.count(counterPurges, im.config.purges)
		t.count(counterPurgesDropped, im.config.purges-im.infos)
		t.restamp = true
		return im.s.settleIndexes(t, name)
	})
}

// abandon removes what was written; what it cannot remove is swept.
func (im *importer) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return im.s.dropImport(ctx, im.core.number)
}

func (s *dbStore) dropImport(ctx context.Context, number int64) error {
	_, _, err := kv.Transact(ctx, s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		there, err := tx.Get(s.importKey(number)).Wait()
		if err != nil || there == nil {
			return struct{}{}, err // published, or dropped
		}
		prefix := newCore(s.root, "", number, kv.Versionstamp{}).keys.prefix
		end, err := tuple.Strinc(prefix)
		if err != nil {
			return struct{}{}, err
		}
		tx.MakesRoom()
		tx.ClearRange(kv.KeyRange{Begin: prefix, End: end})
		tx.Clear(s.importKey(number))
		return struct{}{}, nil
	})
	return err
}

// sweepImports removes what imports left behind whose node has died.
func (s *dbStore) sweepImports(ctx context.Context, now hours) error {
	prefix := s.section(keyspace.DatabasePrefixes)
	var old []int64
	err := scan(ctx, s.engine, prefixRange(prefix), false, func(row kv.KeyValue) (bool, error) {
		number, _, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return false, corrupt("import", err)
		}
		hour, _, err := tuple.TakeInt(row.Value)
		if err != nil {
			return false, corrupt("import", err)
		}
		if now.before(hour, importHours) {
			old = append(old, number)
		}
		return true, nil
	})
	for _, number := range old {
		if err == nil {
			err = s.dropImport(ctx, number)
		}
	}
	return err
}

package embedded

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/salvage"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// hasHorizonKey reads horizonKey from a store that is not open, without changing the directory.
func hasHorizonKey(d horizon.Directory) (needed bool, err error) {
	o := Options{CacheBytes: 8 << 20, Logger: slog.New(slog.DiscardHandler), fs: d.FS}.withDefaults()
	var s store.Store
	var known damage.Damage
	s.Prepare(d.Dir, d.FS, o.Logger)
	known.Prepare()
	db, err := s.OpenPebble(d.Dir, readOnlyOptions(o, &s, &known, salvage.NewFS(damage.NewFS(d.FS, &known), d.Dir)))
	if err != nil {
		if failure.IsDenied(err) || !ofFiles(err) {
			return false, fmt.Errorf("embedded: look into the store in %s: %w", d.Dir, err)
		}
		return false, failure.Damaged(d.Dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	v, err := store.Value(db, horizonKey)
	if err != nil {
		return false, failure.Damaged(d.Dir, err)
	}
	return v != nil, nil
}

// needHorizon writes horizonKey: from now on the store is refused if the horizon is missing.
func needHorizon(db *pebble.DB) error {
	if v, err := store.Value(db, horizonKey); err != nil || v != nil {
		return err
	}
	if err := db.Set(horizonKey, []byte{1}, store.SyncInLog); err != nil {
		return fmt.Errorf("embedded: mark the store as having a horizon: %w", err)
	}
	last, err := lastVersion(db)
	switch {
	case err != nil:
		return err
	case last == 0:
		err = db.Flush()
	default: // the flush may be long or lack disk space: do not wait for it
		_, err = db.AsyncFlush()
	}
	if err != nil {
		return fmt.Errorf("embedded: mark the store as having a horizon: %w", err)
	}
	return nil
}

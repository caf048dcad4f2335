package embedded

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// hasHorizonKey reads horizonKey from a store that is not open, and changes nothing in the directory.
func hasHorizonKey(d directory) (needed bool, err error) {
	o := Options{CacheBytes: 8 << 20, Logger: slog.New(slog.DiscardHandler), fs: d.fs}.withDefaults()
	var s store
	var known damage
	s.prepare(d.dir, d.fs, o.Logger)
	known.prepare()
	db, err := s.openPebble(d.dir, readOnlyOptions(o, &s, &known, newReadOnlyFS(newTableFS(d.fs, &known), d.dir)))
	if err != nil {
		if isDenied(err) || !ofFiles(err) {
			return false, fmt.Errorf("embedded: look into the store in %s: %w", d.dir, err)
		}
		return false, damaged(d.dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	v, err := readCopy(db, horizonKey)
	if err != nil {
		return false, damaged(d.dir, err)
	}
	return v != nil, nil
}

// needHorizon has the store refused from now on where the horizon is missing.
func needHorizon(db *pebble.DB) error {
	if v, err := readCopy(db, horizonKey); err != nil || v != nil {
		return err
	}
	if err := db.Set(horizonKey, []byte{1}, syncInLog); err != nil {
		return fmt.Errorf("embedded: write that the store has a horizon: %w", err)
	}
	last, err := lastVersion(db)
	switch {
	case err != nil:
		return err
	case last == 0:
		err = db.Flush()
	default: // there may be much to write, and little room: nobody has to wait for it
		_, err = db.AsyncFlush()
	}
	if err != nil {
		return fmt.Errorf("embedded: write that the store has a horizon: %w", err)
	}
	return nil
}

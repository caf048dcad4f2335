package layer

import (
	"context"
	"io"
	"time"
)

// SweepUploads runs the hourly sweep of one database as it will be at a time.
func SweepUploads(ctx context.Context, d *Database, now time.Time) error {
	return d.sweepUploads(ctx, now)
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
	im := newImporter(s, x)
	if err := im.reserve(ctx, "abandoned"); err != nil {
		return err
	}
	return im.load(ctx, file)
}

// SweepImports sweeps as if some hours had passed.
func SweepImports(ctx context.Context, s *Store) error {
	return s.sweepImports(ctx, time.Now().Add((importHours+2)*time.Hour))
}

// ClearTransactionIDs runs what the store does every second.
func ClearTransactionIDs(ctx context.Context, s *Store) error {
	return s.ids.clear(ctx, s.engine)
}

// SweepTransactionIDs sweeps as if some hours had passed.
func SweepTransactionIDs(ctx context.Context, s *Store) error {
	return s.ids.sweep(ctx, s.engine, time.Now().Add((idHours+2)*time.Hour))
}

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

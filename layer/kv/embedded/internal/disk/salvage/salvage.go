package salvage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// These functions are OpenReadOnly's salvage option, together with FillGaps: it opens a store that Open refuses, and
// records what the store lacks.

// Lacking returns a fault for each file that the horizon finds incomplete. Which rows are missing is unknown.
func Lacking(fs vfs.FS, dir string) (faults []kv.Fault, m horizon.Mark, err error) {
	lack := func(file, what string) {
		what = strings.TrimPrefix(what, "the file "+file+" ")
		faults = append(faults, kv.Fault{File: file, What: what, LeftOut: true})
	}
	h := horizon.New(fs, dir)
	found, err := h.Found()
	switch err := h.Read(); {
	case failure.IsDenied(err):
		return nil, m, err
	case err != nil:
		lack(horizon.HorizonFile, "it cannot be read, so truncated logs cannot be detected")
	case !found:
		lack(horizon.HorizonFile, "it is missing, so truncated logs cannot be detected")
	}
	if err != nil {
		return nil, m, err
	}
	m = h.Mark()
	for _, p := range m.Files {
		if horizon.IsManifest(p.Name) && p.Name != m.Manifest {
			continue // an old one
		}
		what, err := h.Compare(p)
		if err != nil {
			return nil, m, err
		}
		if what != "" {
			lack(p.Name, what)
		}
	}
	return faults, m, nil
}

// LostMarkers returns the names of markers that once existed and are missing.
func LostMarkers(names []string, m horizon.Mark) (lost []string) {
	has := func(prefix string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	manifest := m.Manifest
	if manifest == "" {
		for _, name := range names {
			if horizon.IsManifest(name) && horizon.FileNumber(name) > horizon.FileNumber(manifest) {
				manifest = name
			}
		}
	}
	if manifest != "" && !has(horizon.ManifestMarker) {
		lost = append(lost, horizon.ManifestMarker+"000001."+manifest)
	}
	if !has(horizon.FormatMarker) {
		lost = append(lost, fmt.Sprintf("%s000001.%03d", horizon.FormatMarker, store.PebbleFormat))
	}
	return lost
}

// LostTables returns possible names of missing tables. Pebble lists none of its tables if one is missing whose name
// it has not seen in the directory.
func LostTables(names []string) (lost []string) {
	there, newest := map[uint64]bool{}, uint64(0)
	for _, name := range names {
		digits, isTable := strings.CutSuffix(name, ".sst")
		number, err := strconv.ParseUint(digits, 10, 64)
		if !isTable || err != nil {
			number = max(horizon.FileNumber(name), horizon.FileNumber(strings.TrimPrefix(name, damage.OptionsFile)))
		}
		there[number] = there[number] || isTable
		newest = max(newest, number)
	}
	for number := range newest + afterNewest {
		if !there[number+1] {
			lost = append(lost, fmt.Sprintf("%06d.sst", number+1))
		}
	}
	return lost
}

// afterNewest is how far lostTables goes beyond the highest file number: the newest file may be missing.
const afterNewest = 1000

// MendLogs replaces damaged logs by copies without the damaged records.
func (f *FS) MendLogs(log *slog.Logger) error {
	names, err := f.FS.List(f.dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	for _, name := range names {
		if !horizon.IsLog(name) || horizon.FileNumber(name) == 0 {
			continue
		}
		mended := vfs.NewMem()
		damaged, err := mendLog(f.FS, f.FS.PathJoin(f.dir, name), mended, name)
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		if damaged {
			log.Warn("a log of the store is damaged; unreadable records are left out", "log", name)
			f.Put(name, mended)
		}
	}
	return nil
}

// logBlock is the length of a log's block. Records begin anywhere, but reading can restart only at a block.
const logBlock = 32 << 10

// mendLog copies the readable records of a log and reports whether there are others. The end of a log torn by a crash
// counts as damaged too.
func mendLog(from vfs.FS, path string, to vfs.FS, name string) (damaged bool, err error) {
	f, err := from.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	out, err := to.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return false, err
	}
	w := record.NewWriter(out)
	for at := int64(0); at < info.Size(); {
		good, err := copyRecords(w, io.NewSectionReader(f, at, info.Size()-at), horizon.FileNumber(name))
		if err == nil {
			break
		}
		if failure.IsDenied(err) {
			return false, err
		}
		damaged = true
		at = ((at+good)/logBlock + 1) * logBlock
	}
	return damaged, errors.Join(w.Close(), out.Close())
}

// copyRecords copies records until one cannot be read. good is the length up to there.
func copyRecords(w *record.Writer, from io.Reader, number uint64) (good int64, err error) {
	r := newRecordReader(record.NewReader, from, number)
	for {
		next, err := r.Next()
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		var b []byte
		if err == nil {
			b, err = io.ReadAll(next)
		}
		if err != nil {
			return good, err
		}
		good = r.Offset()
		if _, err := w.WriteRecord(b); err != nil {
			return good, err
		}
	}
}

// newRecordReader calls open, whose number type is internal to Pebble.
func newRecordReader[N ~uint64](open func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return open(r, N(number))
}

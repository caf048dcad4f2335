package horizon

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// Directory is the directory of a store's files.
type Directory struct {
	FS  vfs.FS
	Dir string
}

func (d Directory) damaged(format string, args ...any) error {
	return failure.Damaged(d.Dir, fmt.Errorf(format, args...))
}

// path returns the path of the horizon file.
func (d Directory) path() string { return d.FS.PathJoin(d.Dir, HorizonFile) }

// Peek returns what Pebble learns from the names of the files.
func (d Directory) Peek() (*pebble.DBDesc, error) {
	desc, err := pebble.Peek(d.Dir, d.FS)
	if err != nil {
		return nil, fmt.Errorf("embedded: look into %s: %w", d.Dir, err)
	}
	return desc, nil
}

// Current returns the name of the manifest that Pebble's marker points at, empty for none.
func (d Directory) Current(desc *pebble.DBDesc) string {
	if !desc.Exists {
		return ""
	}
	return d.FS.PathBase(desc.ManifestFilename)
}

// misnamed checks the markers: empty files whose names tell Pebble which manifest and format to use. It returns the
// prefix of a wrong marker's name and what is wrong.
func (d Directory) misnamed(desc *pebble.DBDesc, m Mark) (file, what string) {
	switch now := d.Current(desc); {
	case now == "" && m.Manifest != "":
		return ManifestMarker, fmt.Sprintf("the empty file %sNNNNNN.%s, which names the list of tables, is missing",
			ManifestMarker, m.Manifest)
	case FileNumber(now) < FileNumber(m.Manifest):
		return ManifestMarker, fmt.Sprintf("the list of its tables is %s, but was %s", now, m.Manifest)
	case m.version > 0 && desc.FormatMajorVersion == pebble.FormatDefault:
		return FormatMarker, fmt.Sprintf("the empty file %sNNNNNN.%03d, whose name is the store's format, is missing",
			FormatMarker, store.PebbleFormat)
	}
	return "", ""
}

// Compare checks that a file still begins with the bytes that were written, and returns what is wrong if not.
func (d Directory) Compare(p Prefix) (what string, err error) {
	f, err := d.FS.Open(d.FS.PathJoin(d.Dir, p.Name))
	if errors.Is(err, os.ErrNotExist) {
		return "the file " + p.Name + " is missing", nil
	}
	if err != nil {
		return "", fmt.Errorf("embedded: %w", err)
	}
	sum := crc32.New(castagnoli)
	n, err := io.CopyBuffer(sum, io.LimitReader(f, int64(p.Size)), make([]byte, 256<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		if failure.IsDamage(err) {
			return "the disk cannot read all of " + p.Name, nil
		}
		return "", fmt.Errorf("embedded: read %s: %w", p.Name, err)
	}
	switch {
	case uint64(n) < p.Size:
		return fmt.Sprintf("the file %s has %d bytes, but had %d", p.Name, n, p.Size), nil
	case sum.Sum32() != p.sum:
		return fmt.Sprintf("the first %d bytes of the file %s are not what was written", p.Size, p.Name), nil
	}
	return "", nil
}

// whole returns the prefix that covers all of a file that is not being written.
func (d Directory) whole(name string) (Prefix, error) {
	f, err := d.FS.Open(d.FS.PathJoin(d.Dir, name))
	if err != nil {
		return Prefix{}, fmt.Errorf("embedded: %w", err)
	}
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return Prefix{}, fmt.Errorf("embedded: read %s: %w", name, err)
	}
	return Prefix{name, uint64(n), sum.Sum32()}, nil
}

// Found reports whether the horizon file exists.
func (d Directory) Found() (bool, error) {
	names, err := d.FS.List(d.Dir)
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.Contains(names, HorizonFile), nil
}

// accepted reports whether an operator has allowed opening the store without its horizon.
func (d Directory) accepted() (bool, error) {
	_, err := d.FS.Stat(d.FS.PathJoin(d.Dir, acceptFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return true, nil
}

// acceptedOnce removes the operator's permission once there is a horizon.
func (d Directory) acceptedOnce() error {
	accepted, err := d.accepted()
	if err != nil || !accepted {
		return err
	}
	if err := d.FS.Remove(d.FS.PathJoin(d.Dir, acceptFile)); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// hasFiles reports whether there are tables or logs. Without the marker files Pebble would take the directory for an
// empty store and remove them.
func (d Directory) hasFiles() (bool, error) {
	names, err := d.FS.List(d.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || IsLog(name) && FileNumber(name) > 0
	}), nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// IsManifest reports whether base is the name of a manifest.
func IsManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// IsLog reports whether base is the name of a log.
func IsLog(base string) bool { return strings.HasSuffix(base, ".log") }

// FileNumber returns Pebble's number of a log or manifest, or 0 for other names.
func FileNumber(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, "MANIFEST-"), ".log"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Pebble finds the manifest by the name of one empty file, and the format by the name of another.
const (
	ManifestMarker = "marker.manifest."
	FormatMarker   = "marker.format-version."
)

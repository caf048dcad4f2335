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

// Directory is where a store's files are.
type Directory struct {
	FS  vfs.FS
	Dir string
}

func (d Directory) damaged(format string, args ...any) error {
	return failure.Damaged(d.Dir, fmt.Errorf(format, args...))
}

// path is that of the horizon.
func (d Directory) path() string { return d.FS.PathJoin(d.Dir, HorizonFile) }

// Peek is what the names of the files tell Pebble.
func (d Directory) Peek() (*pebble.DBDesc, error) {
	desc, err := pebble.Peek(d.Dir, d.FS)
	if err != nil {
		return nil, fmt.Errorf("embedded: look into %s: %w", d.Dir, err)
	}
	return desc, nil
}

// Current is the name of the manifest that Pebble's marker points at, empty for none.
func (d Directory) Current(desc *pebble.DBDesc) string {
	if !desc.Exists {
		return ""
	}
	return d.FS.PathBase(desc.ManifestFilename)
}

// misnamed says what is wrong with the empty files by whose names Pebble finds the others. file is how such a name
// begins.
func (d Directory) misnamed(desc *pebble.DBDesc, m Mark) (file, what string) {
	switch now := d.Current(desc); {
	case now == "" && m.Manifest != "":
		return ManifestMarker, fmt.Sprintf("the empty file %sNNNNNN.%s, which names the list of its tables, is missing",
			ManifestMarker, m.Manifest)
	case FileNumber(now) < FileNumber(m.Manifest):
		return ManifestMarker, fmt.Sprintf("the list of its tables is %s, was %s", now, m.Manifest)
	case m.version > 0 && desc.FormatMajorVersion == pebble.FormatDefault:
		return FormatMarker, fmt.Sprintf("the empty file %sNNNNNN.%03d, which names its format, is missing",
			FormatMarker, store.PebbleFormat)
	}
	return "", ""
}

// Compare looks whether a file begins as it was written, and says what is wrong where it does not.
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
		return fmt.Sprintf("the file %s has %d bytes, had %d", p.Name, n, p.Size), nil
	case sum.Sum32() != p.sum:
		return fmt.Sprintf("the first %d bytes of the file %s are not what was written", p.Size, p.Name), nil
	}
	return "", nil
}

// whole is all of a file that nobody writes.
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

// Found reports whether there is a file.
func (d Directory) Found() (bool, error) {
	names, err := d.FS.List(d.Dir)
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.Contains(names, HorizonFile), nil
}

// accepted reports whether an operator wants the store opened without its horizon.
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

// acceptedOnce takes the operator's word back once there is a horizon.
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

// hasFiles reports whether there are tables or logs: Pebble would take the directory for an empty one without the names
// of its markers, and remove them.
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

// SyncDir makes the names in a directory last.
func SyncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// IsManifest reports whether a name is a manifest's.
func IsManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// IsLog reports whether a name is a log's.
func IsLog(base string) bool { return strings.HasSuffix(base, ".log") }

// FileNumber is Pebble's number of a log or manifest, 0 where name is none.
func FileNumber(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, "MANIFEST-"), ".log"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Pebble finds the manifest by the name of an empty file, and the format of its files by that of another.
const (
	ManifestMarker = "marker.manifest."
	FormatMarker   = "marker.format-version."
)

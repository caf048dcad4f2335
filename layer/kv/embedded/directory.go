package embedded

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
)

// directory is where a store's files are.
type directory struct {
	fs  vfs.FS
	dir string
}

func (d directory) damaged(format string, args ...any) error {
	return damaged(d.dir, fmt.Errorf(format, args...))
}

// path is that of the horizon.
func (d directory) path() string { return d.fs.PathJoin(d.dir, horizonFile) }

// peek is what the names of the files tell Pebble.
func (d directory) peek() (*pebble.DBDesc, error) {
	desc, err := pebble.Peek(d.dir, d.fs)
	if err != nil {
		return nil, fmt.Errorf("embedded: look into %s: %w", d.dir, err)
	}
	return desc, nil
}

// current is the name of the manifest that Pebble's marker points at, empty for none.
func (d directory) current(desc *pebble.DBDesc) string {
	if !desc.Exists {
		return ""
	}
	return d.fs.PathBase(desc.ManifestFilename)
}

// misnamed says what is wrong with the empty files by whose names Pebble finds the others. file is how such a name
// begins.
func (d directory) misnamed(desc *pebble.DBDesc, m mark) (file, what string) {
	switch now := d.current(desc); {
	case now == "" && m.manifest != "":
		return manifestMarker, fmt.Sprintf("the empty file %sNNNNNN.%s, which names the list of its tables, is missing",
			manifestMarker, m.manifest)
	case fileNumber(now) < fileNumber(m.manifest):
		return manifestMarker, fmt.Sprintf("the list of its tables is %s, was %s", now, m.manifest)
	case m.version > 0 && desc.FormatMajorVersion == pebble.FormatDefault:
		return formatMarker, fmt.Sprintf("the empty file %sNNNNNN.%03d, which names its format, is missing",
			formatMarker, pebbleFormat)
	}
	return "", ""
}

// compare looks whether a file begins as it was written, and says what is wrong where it does not.
func (d directory) compare(p prefix) (what string, err error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.dir, p.name))
	if errors.Is(err, os.ErrNotExist) {
		return "the file " + p.name + " is missing", nil
	}
	if err != nil {
		return "", fmt.Errorf("embedded: %w", err)
	}
	sum := crc32.New(castagnoli)
	n, err := io.CopyBuffer(sum, io.LimitReader(f, int64(p.size)), make([]byte, 256<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		if isDamage(err) {
			return "the disk cannot read all of " + p.name, nil
		}
		return "", fmt.Errorf("embedded: read %s: %w", p.name, err)
	}
	switch {
	case uint64(n) < p.size:
		return fmt.Sprintf("the file %s has %d bytes, had %d", p.name, n, p.size), nil
	case sum.Sum32() != p.sum:
		return fmt.Sprintf("the first %d bytes of the file %s are not what was written", p.size, p.name), nil
	}
	return "", nil
}

// whole is all of a file that nobody writes.
func (d directory) whole(name string) (prefix, error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.dir, name))
	if err != nil {
		return prefix{}, fmt.Errorf("embedded: %w", err)
	}
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return prefix{}, fmt.Errorf("embedded: read %s: %w", name, err)
	}
	return prefix{name, uint64(n), sum.Sum32()}, nil
}

// found reports whether there is a file.
func (d directory) found() (bool, error) {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.Contains(names, horizonFile), nil
}

// accepted reports whether an operator wants the store opened without its horizon.
func (d directory) accepted() (bool, error) {
	_, err := d.fs.Stat(d.fs.PathJoin(d.dir, acceptFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return true, nil
}

// acceptedOnce takes the operator's word back once there is a horizon.
func (d directory) acceptedOnce() error {
	accepted, err := d.accepted()
	if err != nil || !accepted {
		return err
	}
	if err := d.fs.Remove(d.fs.PathJoin(d.dir, acceptFile)); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// hasFiles reports whether there are tables or logs: Pebble would take the directory for an empty one without the names
// of its markers, and remove them.
func (d directory) hasFiles() (bool, error) {
	names, err := d.fs.List(d.dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || isLog(name) && fileNumber(name) > 0
	}), nil
}

func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

func isLog(base string) bool { return strings.HasSuffix(base, ".log") }

// fileNumber is Pebble's number of a log or manifest, 0 where name is none.
func fileNumber(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, "MANIFEST-"), ".log"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Pebble finds the manifest by the name of an empty file, and the format of its files by that of another.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
)

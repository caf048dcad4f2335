package embedded

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mirror is a second copy of a manifest. Without its manifest nothing of a store can be read, though its tables and
// logs be whole, and no other file says as much. The mirror is written and synced before the manifest, so that it has
// at least what the horizon says of it. Where the manifest is not what was written and the mirror is, the mirror takes
// its place. A mirror that cannot be written is given up: the next manifest has another.
type mirror struct {
	fs   vfs.FS
	path string
	file vfs.File // nil where it was given up
	log  *slog.Logger
}

const mirrorPrefix = "copy-of-"

func newMirror(fs vfs.FS, dir, manifest string, log *slog.Logger) *mirror {
	m := &mirror{fs: fs, path: fs.PathJoin(dir, mirrorPrefix+manifest), log: log}
	f, err := fs.Create(m.path, vfs.WriteCategoryUnspecified)
	if err == nil {
		m.file = f
		err = syncDir(fs, dir)
	}
	m.check(err)
	return m
}

func (m *mirror) check(err error) {
	if err == nil {
		return
	}
	m.log.Warn("the second copy of the list of tables cannot be written, and is left out until the next list",
		"file", m.path, "error", err)
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
	_ = m.fs.Remove(m.path)
}

func (m *mirror) write(b []byte) {
	if m == nil || m.file == nil {
		return
	}
	_, err := m.file.Write(slices.Clone(b)) // Pebble's file systems may use b up
	m.check(err)
}

func (m *mirror) sync() {
	if m != nil && m.file != nil {
		m.check(m.file.Sync())
	}
}

func (m *mirror) close() {
	if m != nil && m.file != nil {
		f := m.file
		m.file = nil
		if err := f.Close(); err != nil {
			m.check(err)
		}
	}
}

// mirrored is what a mirror has of its manifest, nil where that is not what was written.
func (d directory) mirrored(p prefix) ([]byte, error) {
	b, err := d.readMirror(p.name)
	if err != nil || uint64(len(b)) < p.size || crc32.Checksum(b[:p.size], castagnoli) != p.sum {
		return nil, err
	}
	return b[:p.size], nil
}

// readMirror is all of a mirror, nil where there is none that can be read.
func (d directory) readMirror(manifest string) ([]byte, error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.dir, mirrorPrefix+manifest))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil && !isDamage(err) {
		return nil, fmt.Errorf("embedded: read the copy of %s: %w", manifest, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // one that cannot be read is none
	}
	return b, nil
}

// mendManifest writes the current manifest anew from its mirror where it is not what was written, and says what was
// wrong with it, "" for nothing.
func (h *horizon) mendManifest() (what string, err error) {
	desc, err := h.peek()
	if err != nil {
		return "", err
	}
	files := h.mark().files
	i := slices.IndexFunc(files, func(p prefix) bool { return p.name == h.current(desc) })
	if i < 0 {
		return "", nil
	}
	p := files[i]
	if what, err = h.compare(p); err != nil || what == "" {
		return "", err
	}
	b, err := h.mirrored(p)
	if err != nil || b == nil {
		return "", err
	}
	return what, h.rewrite(p.name, b)
}

// rewrite writes the beginning of a file in its place: Pebble may have it open, and write on behind it.
func (d directory) rewrite(name string, b []byte) error {
	path := d.fs.PathJoin(d.dir, name)
	f, err := d.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified) // which makes one that is missing
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("embedded: write %s: %w", path, err)
	}
	return syncDir(d.fs, d.dir)
}

// removeOldMirrors removes those whose manifests a crash has outlived.
func (d directory) removeOldMirrors() error {
	names, err := d.fs.List(d.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if of, ok := strings.CutPrefix(name, mirrorPrefix); ok && !slices.Contains(names, of) {
			err = errors.Join(err, d.fs.Remove(d.fs.PathJoin(d.dir, name)))
		}
	}
	return err
}

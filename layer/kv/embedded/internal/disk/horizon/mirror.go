package horizon

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

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// Mirror is a second copy of a manifest. Without its manifest nothing of a store can be read, though its tables and
// logs be whole, and no other file says as much. The mirror is written and synced before the manifest, so that it has
// at least what the horizon says of it. Where the manifest is not what was written and the mirror is, the mirror takes
// its place. A mirror that cannot be written is given up: the next manifest has another.
type Mirror struct {
	fs   vfs.FS
	path string
	file vfs.File // nil where it was given up
	log  *slog.Logger
}

// MirrorPrefix and the name of a manifest are the name of its mirror.
const MirrorPrefix = "copy-of-"

// NewMirror begins the mirror of a manifest.
func NewMirror(fs vfs.FS, dir, manifest string, log *slog.Logger) *Mirror {
	m := &Mirror{fs: fs, path: fs.PathJoin(dir, MirrorPrefix+manifest), log: log}
	f, err := fs.Create(m.path, vfs.WriteCategoryUnspecified)
	if err == nil {
		m.file = f
		err = SyncDir(fs, dir)
	}
	m.check(err)
	return m
}

func (m *Mirror) check(err error) {
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

// Write writes what the manifest will have next. The mirror may be nil, as in the methods below.
func (m *Mirror) Write(b []byte) {
	if m == nil || m.file == nil {
		return
	}
	_, err := m.file.Write(slices.Clone(b)) // Pebble's file systems may use b up
	m.check(err)
}

// Sync makes what was written last.
func (m *Mirror) Sync() {
	if m != nil && m.file != nil {
		m.check(m.file.Sync())
	}
}

// Close ends the mirror with its manifest.
func (m *Mirror) Close() {
	if m != nil && m.file != nil {
		f := m.file
		m.file = nil
		if err := f.Close(); err != nil {
			m.check(err)
		}
	}
}

// Mirrored is what a mirror has of its manifest, nil where that is not what was written.
func (d Directory) Mirrored(p Prefix) ([]byte, error) {
	b, err := d.ReadMirror(p.Name)
	if err != nil || uint64(len(b)) < p.Size || crc32.Checksum(b[:p.Size], castagnoli) != p.sum {
		return nil, err
	}
	return b[:p.Size], nil
}

// ReadMirror is all of a mirror, nil where there is none that can be read.
func (d Directory) ReadMirror(manifest string) ([]byte, error) {
	f, err := d.FS.Open(d.FS.PathJoin(d.Dir, MirrorPrefix+manifest))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil && !failure.IsDamage(err) {
		return nil, fmt.Errorf("embedded: read the copy of %s: %w", manifest, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // one that cannot be read is none
	}
	return b, nil
}

// MendManifest writes the current manifest anew from its mirror where it is not what was written, and says what was
// wrong with it, "" for nothing.
func (h *Horizon) MendManifest() (what string, err error) {
	desc, err := h.Peek()
	if err != nil {
		return "", err
	}
	files := h.Mark().Files
	i := slices.IndexFunc(files, func(p Prefix) bool { return p.Name == h.Current(desc) })
	if i < 0 {
		return "", nil
	}
	p := files[i]
	if what, err = h.Compare(p); err != nil || what == "" {
		return "", err
	}
	b, err := h.Mirrored(p)
	if err != nil || b == nil {
		return "", err
	}
	return what, h.rewrite(p.Name, b)
}

// rewrite writes the beginning of a file in its place: Pebble may have it open, and write on behind it.
func (d Directory) rewrite(name string, b []byte) error {
	path := d.FS.PathJoin(d.Dir, name)
	f, err := d.FS.OpenReadWrite(path, vfs.WriteCategoryUnspecified) // which makes one that is missing
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
	return SyncDir(d.FS, d.Dir)
}

// RemoveOldMirrors removes those whose manifests a crash has outlived.
func (d Directory) RemoveOldMirrors() error {
	names, err := d.FS.List(d.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if of, ok := strings.CutPrefix(name, MirrorPrefix); ok && !slices.Contains(names, of) {
			err = errors.Join(err, d.FS.Remove(d.FS.PathJoin(d.Dir, name)))
		}
	}
	return err
}

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

// Mirror is a second copy of a manifest. Without its manifest nothing of a store can be read, even if its tables and
// logs are intact, and no other file has that information. The mirror is written and synced before the manifest, so
// that it contains at least what the horizon records. If the manifest is damaged and the mirror is not, the mirror
// replaces it. A mirror that cannot be written is abandoned; the next manifest gets a new one.
type Mirror struct {
	fs   vfs.FS
	path string
	file vfs.File // nil if it was abandoned
	log  *slog.Logger
}

// MirrorPrefix before the name of a manifest gives the name of its mirror.
const MirrorPrefix = "copy-of-"

// NewMirror creates the mirror of a manifest.
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
	m.log.Warn("the second copy of the list of tables cannot be written; there is none until the next list",
		"file", m.path, "error", err)
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
	_ = m.fs.Remove(m.path)
}

// Write writes b, which the manifest gets next. The mirror may be nil, as in the methods below.
func (m *Mirror) Write(b []byte) {
	if m == nil || m.file == nil {
		return
	}
	_, err := m.file.Write(slices.Clone(b)) // a copy, because Pebble's file systems may modify b
	m.check(err)
}

// Sync makes the written bytes durable.
func (m *Mirror) Sync() {
	if m != nil && m.file != nil {
		m.check(m.file.Sync())
	}
}

// Close closes the mirror with its manifest.
func (m *Mirror) Close() {
	if m != nil && m.file != nil {
		f := m.file
		m.file = nil
		if err := f.Close(); err != nil {
			m.check(err)
		}
	}
}

// Mirrored returns the mirror's content for a manifest prefix, or nil if the mirror is damaged too.
func (d Directory) Mirrored(p Prefix) ([]byte, error) {
	b, err := d.ReadMirror(p.Name)
	if err != nil || uint64(len(b)) < p.Size || crc32.Checksum(b[:p.Size], castagnoli) != p.sum {
		return nil, err
	}
	return b[:p.Size], nil
}

// ReadMirror returns the whole mirror, or nil if it does not exist or cannot be read.
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

// MendManifest rewrites the current manifest from its mirror if it is damaged, and returns what was wrong with it, or
// "".
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

// rewrite overwrites the beginning of a file in place: Pebble may have it open and continue writing after it.
func (d Directory) rewrite(name string, b []byte) error {
	path := d.FS.PathJoin(d.Dir, name)
	f, err := d.FS.OpenReadWrite(path, vfs.WriteCategoryUnspecified) // creates the file if it is missing
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

// RemoveOldMirrors removes mirrors that a crash left behind without their manifests.
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

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
func (h *horizon) mirrored(p prefix) ([]byte, error) {
	b, err := h.readMirror(p.name)
	if err != nil || uint64(len(b)) < p.size || crc32.Checksum(b[:p.size], castagnoli) != p.sum {
		return nil, err
	}
	return b[:p.size], nil
}

// readMirror is all of a mirror, nil where there is none that can be read.
func (h *horizon) readMirror(manifest string) ([]byte, error) {
	f, err := h.fs.Open(h.fs.PathJoin(h.dir, mirrorPrefix+manifest))
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
func (h *horizon) rewrite(name string, b []byte) error {
	path := h.fs.PathJoin(h.dir, name)
	f, err := h.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified) // which makes one that is missing
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
	return syncDir(h.fs, h.dir)
}

// manifestMended is mendManifest for a store that is open or about to be. It reports whether there was anything to do.
func (e *Engine) manifestMended() (bool, error) {
	what, err := e.horizon.mendManifest()
	if err != nil {
		return false, explainDenied(err)
	}
	if what != "" {
		e.log.Error("the list of the store's tables was not what was written, and was written anew from its second "+
			"copy: the disk may be failing", "what", what)
	}
	return what != "", nil
}

// removeOldMirrors removes those whose manifests a crash has outlived.
func (h *horizon) removeOldMirrors() error {
	names, err := h.fs.List(h.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if of, ok := strings.CutPrefix(name, mirrorPrefix); ok && !slices.Contains(names, of) {
			err = errors.Join(err, h.fs.Remove(h.fs.PathJoin(h.dir, name)))
		}
	}
	return err
}

// readMirrored has Pebble read the mirror where the manifest is not what was written, and reports whether it does. With
// salvage also where nobody knows what was written, and there is no manifest.
func (f *readOnlyFS) readMirrored(h *horizon, salvage bool) (bool, error) {
	m := h.mark()
	name := m.manifest
	if desc, err := h.peek(); err == nil && h.current(desc) != "" {
		name = h.current(desc)
	}
	if name == "" {
		return false, nil
	}
	var b []byte
	i := slices.IndexFunc(m.files, func(p prefix) bool { return p.name == name })
	if i >= 0 {
		what, err := h.compare(m.files[i])
		if err != nil || what == "" {
			return false, err
		}
		if b, err = h.mirrored(m.files[i]); err != nil {
			return false, err
		}
	}
	if b == nil && salvage {
		if _, err := f.FS.Stat(f.PathJoin(h.dir, name)); errors.Is(err, os.ErrNotExist) {
			if b, err = h.readMirror(name); err != nil {
				return false, err
			}
		}
	}
	if b == nil {
		return false, nil
	}
	mem := vfs.NewMem()
	out, err := mem.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = out.Write(b)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	f.put(name, mem)
	return true, nil
}

package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnlyFS refuses everything that would change a file, and can show other files than there are.
type readOnlyFS struct {
	vfs.FS
	dir     string
	salvage bool
	more    []string          // names in dir that are not there
	instead map[string]vfs.FS // where files are that are in the place of those of the same name in dir
}

// newReadOnlyFS is fs, to read the store in dir.
func newReadOnlyFS(fs vfs.FS, dir string) *readOnlyFS { return &readOnlyFS{FS: fs, dir: dir} }

// put shows the file of that name in fs instead of the one in the directory.
func (f *readOnlyFS) put(name string, fs vfs.FS) {
	if f.instead == nil {
		f.instead = map[string]vfs.FS{}
	}
	f.instead[name] = fs
}

func (f *readOnlyFS) refuse(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS}
}

// Open implements vfs.FS.
func (f *readOnlyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Open(f.PathBase(name), opts...)
	}
	return f.FS.Open(name, opts...)
}

// Stat implements vfs.FS.
func (f *readOnlyFS) Stat(name string) (vfs.FileInfo, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Stat(f.PathBase(name))
	}
	return f.FS.Stat(name)
}

// List implements vfs.FS.
func (f *readOnlyFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || dir != f.dir {
		return names, err
	}
	for name := range f.instead {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, f.more...), nil
}

// Create implements vfs.FS.
func (f *readOnlyFS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("create", name)
}

// Link implements vfs.FS.
func (f *readOnlyFS) Link(_, name string) error { return f.refuse("link", name) }

// OpenReadWrite implements vfs.FS.
func (f *readOnlyFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.refuse("open for writing", name)
}

// Remove implements vfs.FS.
func (f *readOnlyFS) Remove(name string) error { return f.refuse("remove", name) }

// RemoveAll implements vfs.FS.
func (f *readOnlyFS) RemoveAll(name string) error { return f.refuse("remove", name) }

// Rename implements vfs.FS.
func (f *readOnlyFS) Rename(name, _ string) error { return f.refuse("rename", name) }

// ReuseForWrite implements vfs.FS.
func (f *readOnlyFS) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("write", name)
}

// MkdirAll implements vfs.FS.
func (f *readOnlyFS) MkdirAll(name string, _ os.FileMode) error { return f.refuse("make", name) }

// Lock implements vfs.FS: OpenReadOnly has the store for itself already.
func (f *readOnlyFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (f *readOnlyFS) Unwrap() vfs.FS { return f.FS }

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

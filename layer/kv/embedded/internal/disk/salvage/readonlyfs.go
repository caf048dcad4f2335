package salvage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
)

// FS refuses every change and can substitute files.
type FS struct {
	vfs.FS
	dir     string
	Salvage bool
	More    []string          // names to list in dir beside those that exist
	instead map[string]vfs.FS // the file systems that hold substitutes for the files of these names in dir
}

// NewFS wraps fs for reading the store in dir.
func NewFS(fs vfs.FS, dir string) *FS { return &FS{FS: fs, dir: dir} }

// Put makes fs's file of that name replace the one in the directory.
func (f *FS) Put(name string, fs vfs.FS) {
	if f.instead == nil {
		f.instead = map[string]vfs.FS{}
	}
	f.instead[name] = fs
}

func (f *FS) refuse(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: syscall.EROFS}
}

// Open implements vfs.FS.
func (f *FS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Open(f.PathBase(name), opts...)
	}
	return f.FS.Open(name, opts...)
}

// Stat implements vfs.FS.
func (f *FS) Stat(name string) (vfs.FileInfo, error) {
	if fs := f.instead[f.PathBase(name)]; fs != nil {
		return fs.Stat(f.PathBase(name))
	}
	return f.FS.Stat(name)
}

// List implements vfs.FS.
func (f *FS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || dir != f.dir {
		return names, err
	}
	for name := range f.instead {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, f.More...), nil
}

// Create implements vfs.FS.
func (f *FS) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("create", name)
}

// Link implements vfs.FS.
func (f *FS) Link(_, name string) error { return f.refuse("link", name) }

// OpenReadWrite implements vfs.FS.
func (f *FS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, f.refuse("open for writing", name)
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error { return f.refuse("remove", name) }

// RemoveAll implements vfs.FS.
func (f *FS) RemoveAll(name string) error { return f.refuse("remove", name) }

// Rename implements vfs.FS.
func (f *FS) Rename(name, _ string) error { return f.refuse("rename", name) }

// ReuseForWrite implements vfs.FS.
func (f *FS) ReuseForWrite(name, _ string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, f.refuse("write", name)
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(name string, _ os.FileMode) error { return f.refuse("make", name) }

// Lock implements vfs.FS. It does nothing, because OpenReadOnly has locked the store already.
func (f *FS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (f *FS) Unwrap() vfs.FS { return f.FS }

// ReadMirrored makes Pebble read the mirror if the manifest is damaged, and reports whether it does. With salvage it
// also does so if there is no manifest and no record of its content.
func (f *FS) ReadMirrored(h *horizon.Horizon, salvage bool) (bool, error) {
	m := h.Mark()
	name := m.Manifest
	if desc, err := h.Peek(); err == nil && h.Current(desc) != "" {
		name = h.Current(desc)
	}
	if name == "" {
		return false, nil
	}
	var b []byte
	i := slices.IndexFunc(m.Files, func(p horizon.Prefix) bool { return p.Name == name })
	if i >= 0 {
		what, err := h.Compare(m.Files[i])
		if err != nil || what == "" {
			return false, err
		}
		if b, err = h.Mirrored(m.Files[i]); err != nil {
			return false, err
		}
	}
	if b == nil && salvage {
		if _, err := f.FS.Stat(f.PathJoin(h.Dir, name)); errors.Is(err, os.ErrNotExist) {
			if b, err = h.ReadMirror(name); err != nil {
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
	f.Put(name, mem)
	return true, nil
}

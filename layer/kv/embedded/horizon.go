package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// horizon is a small file beside the store with what was on disk when it was written: the last version, and the manifest that Pebble finds
// everything else by, as its name, length and checksum. Pebble takes a log or a manifest that ends too early for one that a crash tore, also where
// it was synced once and damaged later, and goes on with what is left. Here such a store is told apart, and not opened.
//
// It is written after flushes, when the manifest changes, and at Close. The engine's sweeper owns it, and after that Close.
type horizon struct {
	fs   vfs.FS
	dir  string
	mark mark // what the file holds
}

// mark is the content of the file.
type mark struct {
	version  int64
	manifest manifestMark
}

// manifestMark is the synced part of a manifest. The zero value is none.
type manifestMark struct {
	name string
	size uint64
	sum  uint32 // Castagnoli
}

const horizonFile = "horizon"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m mark) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{1}, uint64(m.version))
	b = binary.BigEndian.AppendUint64(b, m.manifest.size)
	b = binary.BigEndian.AppendUint32(b, m.manifest.sum)
	b = append(b, m.manifest.name...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeMark(b []byte) (m mark, ok bool) {
	end := len(b) - 4
	if end < 21 || b[0] != 1 || crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return mark{}, false
	}
	m.version = int64(binary.BigEndian.Uint64(b[1:]))
	m.manifest = manifestMark{string(b[21:end]), binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint32(b[17:])}
	return m, true
}

// damaged is the error for a store that has not what it had.
func (h *horizon) damaged(format string, args ...any) error {
	return damaged(h.dir, fmt.Errorf(format, args...))
}

// damaged is what the operator is told of a store that cannot be opened as it is.
func damaged(dir string, what error) error {
	return fmt.Errorf("embedded: the store in %s is damaged: %w; nothing was changed in it; start on a backup, or bring the files back that it had", dir, what)
}

// read reads the file, if there is one, and compares the manifest with it. Before the store is opened.
func (h *horizon) read() error {
	b, err := h.readFile(horizonFile, -1)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: read %s: %w", horizonFile, err)
	}
	var ok bool
	if h.mark, ok = decodeMark(b); !ok {
		return h.damaged("the file %s is not readable", horizonFile)
	}
	desc, err := pebble.Peek(h.dir, h.fs)
	if err != nil {
		return fmt.Errorf("embedded: look into %s: %w", h.dir, err)
	}
	was, now := h.mark.manifest, h.fs.PathBase(desc.ManifestFilename)
	switch {
	case was.name == "":
		return nil
	case !desc.Exists || now < was.name: // names count up, in six digits
		return h.damaged("the manifest is %q, was %q", now, was.name)
	case now > was.name:
		return nil // a newer one has been begun since
	}
	b, err = h.readFile(was.name, int64(was.size))
	if err != nil {
		return h.damaged("the manifest %s: %v", was.name, err)
	}
	if crc32.Checksum(b, castagnoli) != was.sum {
		return h.damaged("the manifest %s has other content than was written", was.name)
	}
	return nil
}

// readFile reads the first n bytes of a file, or all for -1.
func (h *horizon) readFile(name string, n int64) ([]byte, error) {
	f, err := h.fs.Open(h.fs.PathJoin(h.dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if n < 0 {
		return io.ReadAll(f)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(f, b)
	return b, err
}

// check compares the store's last version with the file.
func (h *horizon) check(last int64) error {
	if last < h.mark.version {
		return h.damaged("it is at version %d, was at %d: commits that were on disk are lost", last, h.mark.version)
	}
	return nil
}

// write replaces the file. The version must be synced; manifest is the newest that was synced since the store was opened, or none.
func (h *horizon) write(version int64, manifest manifestMark) error {
	// A manifest counts once it is found by its marker, for good: before that a crash goes back to the one before.
	desc, err := pebble.Peek(h.dir, h.fs)
	if err != nil {
		return err
	}
	if err := h.syncDir(); err != nil {
		return err
	}
	if manifest.name == "" || manifest.name != h.fs.PathBase(desc.ManifestFilename) {
		manifest = h.mark.manifest
	}
	next := mark{version, manifest}
	if next == h.mark {
		return nil
	}
	path := h.fs.PathJoin(h.dir, horizonFile)
	f, err := h.fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = f.Write(next.encode()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := h.fs.Rename(path+".new", path); err != nil {
		return err
	}
	if err := h.syncDir(); err != nil {
		return err
	}
	h.mark = next
	return nil
}

func (h *horizon) syncDir() error {
	dir, err := h.fs.OpenDir(h.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// manifestFile watches a manifest being written: what of it is synced, and the checksum of that.
type manifestFile struct {
	vfs.File
	of      *manifests
	written manifestMark
}

// manifests knows the newest manifest.
type manifests struct {
	mu     sync.Mutex
	synced manifestMark
}

func (ms *manifests) newest() manifestMark {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.synced
}

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

func (f *manifestFile) Write(b []byte) (int, error) {
	f.written.size += uint64(len(b))
	f.written.sum = crc32.Update(f.written.sum, castagnoli, b) // first: Pebble's file systems may use b up
	return f.File.Write(b)                                     // an error ends it all, see guard
}

func (f *manifestFile) Sync() error {
	err := f.File.Sync()
	if err == nil {
		f.of.mu.Lock()
		f.of.synced = f.written
		f.of.mu.Unlock()
	}
	return err
}

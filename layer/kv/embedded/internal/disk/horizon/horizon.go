package horizon

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Horizon is a small file beside the store that records what the store's other files must contain. If a log or
// manifest ends too early, or goes wrong near its end, Pebble assumes that a crash tore it and opens with the rest.
// That is right for data that was never synced and wrong for all other data, and only the horizon can tell the two
// apart.
//
// The engine writes logs and manifests front to back. For each file the horizon holds the synced length and the
// checksum of that much (a prefix), and the last acknowledged version: together a mark. Before the store is opened,
// every file of the newest mark must exist and begin with the prefix; once opened, the store must be at the mark's
// version or later. Tables need no mark: they never change, the manifest lists each with its size, and their blocks
// have checksums.
//
// A mark is written before each acknowledgement and not synced. The system keeps what a killed process wrote, so
// after a kill the newest mark covers the very last commit. A power cut may revert marks, but not the syncs before
// them, so an older mark is still true; it may also tear marks. Therefore some marks are synced, into separate slots:
// when the store is opened or closed, and before a marked file is removed.
type Horizon struct {
	Directory
	Absent bool // Read found no readable file

	settling sync.Mutex // held while a mark is written and synced; taken before mu
	mu       struct {
		sync.Mutex
		now   Mark
		file  vfs.File // nil before Open and after Close
		count uint64   // number of marks written
		next  [2]int   // the slot of each pair that is written next: not the one with its newest mark
		buf   []byte
	}
}

// Mark is the state of the store at a moment. It only grows.
type Mark struct {
	version  int64    // the last acknowledged version
	Manifest string   // the manifest that Pebble's marker points at, or an older one; empty for none
	Files    []Prefix // the existing logs and manifests
}

// Prefix is the synced part of a file that is written front to back.
type Prefix struct {
	Name string
	Size uint64
	sum  uint32 // CRC-32C
}

// New returns the Horizon of the store in dir, not yet read.
func New(fs vfs.FS, dir string) *Horizon { return &Horizon{Directory: Directory{fs, dir}} }

// Grow adds b, which was written to the end of the file.
func (p *Prefix) Grow(b []byte) {
	p.Size += uint64(len(b))
	p.sum = crc32.Update(p.sum, castagnoli, b)
}

// HorizonFile is the name of the horizon file.
const HorizonFile = "horizon"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// withoutManifest returns the error for a damaged manifest, without which nothing can be salvaged.
func withoutManifest(dir, what string) error {
	return fmt.Errorf("embedded: the store in %s is damaged: %s; this is the list of the store's tables, its second "+
		"copy is damaged too, and without it no database can be saved completely; nothing in it was "+
		"changed; restore a backup, or bring back the file", dir, what)
}

// Version returns the last acknowledged version.
func (h *Horizon) Version() int64 { return h.Mark().version }

// Mark returns a copy of the current mark.
func (h *Horizon) Mark() Mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.mu.now
	m.Files = slices.Clone(m.Files)
	return m
}

// Open opens the file for writing marks. Call it after Read and Verify, before anything in the directory changes.
func (h *Horizon) Open() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.count == 0 { // there is no file, or one of the first format
		if err := h.create(); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
	f, err := h.FS.OpenReadWrite(h.path(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	h.mu.file = f
	return h.acceptedOnce()
}

// create replaces the file by one with the current mark. Called with mu locked.
func (h *Horizon) create() error {
	f, err := h.FS.Create(h.path()+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	h.mu.count = 1
	h.mu.next = [2]int{1, 0}
	b := make([]byte, slots*slotSize) // the whole length, so that later writes need no disk space
	copy(b, h.mu.now.encode(nil, h.mu.count))
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := h.FS.Rename(h.path()+".new", h.path()); err != nil {
		return err
	}
	return SyncDir(h.FS, h.Dir)
}

// Close closes the file. No marks are written afterwards.
func (h *Horizon) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.mu.file
	h.mu.file = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

// Acknowledge writes a mark with version. Everything that it needs must be synced.
func (h *Horizon) Acknowledge(version int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.version = max(h.mu.now.version, version)
	return h.write(unsyncedSlots)
}

// Settle writes a mark with version and syncs it.
func (h *Horizon) Settle(version int64) error {
	h.settling.Lock()
	defer h.settling.Unlock()
	h.mu.Lock()
	h.mu.now.version = max(h.mu.now.version, version)
	h.mu.Unlock()
	return h.settleNow()
}

// settleNow is Settle, called with settling locked. Commits continue to write marks meanwhile.
func (h *Horizon) settleNow() error {
	h.mu.Lock()
	f, err := h.mu.file, h.write(syncedSlots)
	h.mu.Unlock()
	if err != nil || f == nil {
		return err
	}
	if err := f.SyncData(); err != nil {
		return err
	}
	h.mu.Lock()
	h.mu.next[syncedSlots] ^= 1 // only now does the other slot hold the newest mark that is surely on disk
	h.mu.Unlock()
	return nil
}

// Grown records the synced part of a file. The file's name must be durable.
func (h *Horizon) Grown(p Prefix) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.put(p)
	if !IsManifest(p.Name) {
		return nil // the commit that synced the log will be acknowledged, which writes the mark
	}
	return h.write(unsyncedSlots)
}

// Installed records that Pebble's marker durably points at the manifest.
func (h *Horizon) Installed(manifest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.Manifest = manifest
}

// Forget ensures that no mark on disk names the file, which is about to be removed.
func (h *Horizon) Forget(name string) error {
	h.settling.Lock()
	defer h.settling.Unlock()
	h.mu.Lock()
	known := h.mu.now.drop(name)
	h.mu.Unlock()
	if !known {
		return nil
	}
	return h.settleNow()
}

// write writes the current mark into a slot. Called with mu locked.
func (h *Horizon) write(pair int) error {
	if h.mu.file == nil {
		return nil
	}
	h.mu.count++
	h.mu.buf = h.mu.now.encode(h.mu.buf[:0], h.mu.count)
	if _, err := h.mu.file.WriteAt(h.mu.buf, int64(2*pair+h.mu.next[pair])*slotSize); err != nil {
		return fmt.Errorf("write %s: %w", h.path(), err)
	}
	if pair == unsyncedSlots {
		h.mu.next[pair] ^= 1
	}
	return nil
}

// Marks reports whether the current mark covers the file.
func (h *Horizon) Marks(name string) bool {
	return slices.ContainsFunc(h.Mark().Files, func(p Prefix) bool { return p.Name == name })
}

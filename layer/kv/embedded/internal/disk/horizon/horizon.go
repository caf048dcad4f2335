package horizon

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Horizon is a small file beside the store that remembers what the store's other files must still hold. Pebble takes a
// log or a manifest that ends too early, or goes wrong near its end, for one that a crash tore, and opens with what is
// left. That is right for what was never synced and wrong for everything else, and only the horizon can tell the two
// apart.
//
// The engine writes logs and manifests front to back. Of each the horizon holds the length that was synced and the
// checksum of that much (a prefix), with the last version that was acknowledged: together a mark. Before the store is
// opened, every file of the newest mark must exist and begin with the prefix; once it is open, it must be at the mark's
// version at least. Tables need no mark: they never change, the manifest names each with its size, and their blocks
// have checksums.
//
// A mark is written before each acknowledgement and not synced. What a killed process wrote is in the system's memory,
// so the newest mark covers the very last commit. A power cut may take marks back, but not the syncs before them, so an
// older mark still is true; it may also tear them. Therefore some marks are synced, into slots of their own: when the
// store was opened, when it was closed, and before a file that is marked goes.
type Horizon struct {
	Directory
	Absent bool // read found no file, or none that can be read

	settling sync.Mutex // held while a mark is written and synced; taken before mu
	mu       struct {
		sync.Mutex
		now   Mark
		file  vfs.File // nil before open and after close
		count uint64   // of marks
		next  [2]int   // which slot of each pair is written next: not the one with its newest mark
		buf   []byte
	}
}

// Mark is what was true at a moment, and what can only grow.
type Mark struct {
	version  int64    // the last that was acknowledged
	Manifest string   // the name of the one that Pebble's marker points at, or an older one; empty for none
	Files    []Prefix // that exist
}

// Prefix is the synced part of a file that is written front to back.
type Prefix struct {
	Name string
	Size uint64
	sum  uint32 // Castagnoli
}

// New is that of the store in dir, which is not read yet.
func New(fs vfs.FS, dir string) *Horizon { return &Horizon{Directory: Directory{fs, dir}} }

// Grow notes what was written to the end of the file.
func (p *Prefix) Grow(b []byte) {
	p.Size += uint64(len(b))
	p.sum = crc32.Update(p.sum, castagnoli, b)
}

// HorizonFile is the name of the file.
const HorizonFile = "horizon"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// withoutManifest is damaged where the list of tables is concerned, without which nothing can be saved.
func withoutManifest(dir, what string) error {
	return fmt.Errorf("embedded: the store in %s is damaged: %s; it is the list of the store's tables, its second "+
		"copy is not as it was either, and without it nothing of the store can be saved as a whole; nothing was "+
		"changed in it; start on a backup, or bring the file back", dir, what)
}

// Version is the last that was acknowledged.
func (h *Horizon) Version() int64 { return h.Mark().version }

// Mark is what holds now.
func (h *Horizon) Mark() Mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.mu.now
	m.Files = slices.Clone(m.Files)
	return m
}

// Open makes marks possible: after read and verify, before anything in the directory changes.
func (h *Horizon) Open() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.count == 0 { // no file, or one of the first format
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

// create puts a file with the present mark in its place. Called with mu locked.
func (h *Horizon) create() error {
	f, err := h.FS.Create(h.path()+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	h.mu.count = 1
	h.mu.next = [2]int{1, 0}
	b := make([]byte, slots*slotSize) // all of it, so that no later write needs room on the disk
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

// Close ends the writing of marks.
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

// Acknowledge marks a version as one that may be answered for: all that it needs is synced.
func (h *Horizon) Acknowledge(version int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.version = max(h.mu.now.version, version)
	return h.write(unsyncedSlots)
}

// Settle writes a mark and syncs it.
func (h *Horizon) Settle(version int64) error {
	h.settling.Lock()
	defer h.settling.Unlock()
	h.mu.Lock()
	h.mu.now.version = max(h.mu.now.version, version)
	h.mu.Unlock()
	return h.settleNow()
}

// settleNow is settle, called with settling locked. Commits are marked meanwhile.
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
	h.mu.next[syncedSlots] ^= 1 // only now: the other slot holds the newest mark that is surely on the disk
	h.mu.Unlock()
	return nil
}

// Grown notes what of a file is synced now. Its name must be on the disk for good.
func (h *Horizon) Grown(p Prefix) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.put(p)
	if !IsManifest(p.Name) {
		return nil // the commit for which the log was synced will be acknowledged
	}
	return h.write(unsyncedSlots)
}

// Installed notes that Pebble's marker points at the manifest, for good.
func (h *Horizon) Installed(manifest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.now.Manifest = manifest
}

// Forget makes sure that no mark names the file, which is about to go.
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

// write writes the present mark into a slot. Called with mu locked.
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

// Marks reports whether a file is one that must be as it was written.
func (h *Horizon) Marks(name string) bool {
	return slices.ContainsFunc(h.Mark().Files, func(p Prefix) bool { return p.Name == name })
}

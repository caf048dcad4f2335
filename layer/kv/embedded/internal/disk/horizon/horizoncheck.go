package horizon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
)

// Read takes the newest mark from the file. If there is no file, the mark is empty and Verify decides.
func (h *Horizon) Read() error {
	f, err := h.FS.Open(h.path())
	if errors.Is(err, os.ErrNotExist) {
		h.Absent = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, slots*slotSize))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("embedded: read %s: %w", h.path(), err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok := decodeFirstFormat(b); ok {
		h.mu.now = m
		// this format was not updated when the manifest changed
		if desc, err := h.Peek(); err != nil || h.Current(desc) != m.Manifest {
			h.mu.now.Files = nil
		}
		return nil
	}
	synced := false
	for slot := range slots {
		m, count, ok := decodeSlot(b, slot)
		if !ok {
			continue
		}
		synced = synced || slot/2 == syncedSlots
		if count > h.mu.count {
			h.mu.now, h.mu.count = m, count
		}
		if _, other, _ := decodeSlot(b, slot^1); count > other {
			h.mu.next[slot/2] = (slot ^ 1) % 2
		}
	}
	if synced { // a power cut leaves at least one of them intact
		return nil
	}
	h.Absent, h.mu.now, h.mu.count = true, Mark{}, 0
	if accepted, err := h.accepted(); accepted || err != nil {
		return err
	}
	return h.damaged("the file %s is not readable, %s", HorizonFile, withoutHorizon)
}

// Verify compares the files with the mark. It changes nothing. needed is called if there is no horizon and reads from
// the store whether it ever had one.
func (h *Horizon) Verify(needed func(Directory) (bool, error)) error {
	desc, err := h.Peek()
	if err != nil {
		return err
	}
	if h.Absent {
		return h.mayBeAbsent(desc, needed)
	}
	m := h.Mark()
	if _, what := h.misnamed(desc, m); what != "" {
		return h.damaged("%s", what)
	}
	for _, p := range m.Files {
		if IsManifest(p.Name) && p.Name != h.Current(desc) {
			continue // Pebble does not read it, and removes it
		}
		what, err := h.Compare(p)
		if err != nil {
			return err
		}
		if what == "" {
			continue
		}
		if !IsManifest(p.Name) {
			return h.damaged("%s", what)
		}
		if good, err := h.Mirrored(p); err != nil || good == nil {
			return errors.Join(err, withoutManifest(h.Dir, what))
		}
	}
	return nil
}

// Markers checks the markers of an open store, see misnamed.
func (h *Horizon) Markers() (file, what string, err error) {
	before := h.Mark() // first, because Pebble may switch to a newer manifest meanwhile
	desc, err := h.Peek()
	if err != nil {
		return "", "", err
	}
	file, what = h.misnamed(desc, before)
	return file, what, nil
}

// Check compares the opened store's last version with the mark.
func (h *Horizon) Check(last int64) error {
	if was := h.Version(); last < was {
		return h.damaged("it is at version %d but was at %d: acknowledged commits are lost", last, was)
	}
	return nil
}

// CopyTo writes a horizon for a copy of the store that was made after the mark before. The logs were copied while
// they grew, so the new horizon covers as much of them as that mark.
func (h *Horizon) CopyTo(dir string, before Mark) error {
	c := New(h.FS, dir)
	desc, err := c.Peek()
	if err != nil {
		return err
	}
	m := Mark{version: before.version, Manifest: c.Current(desc)}
	list, err := c.whole(m.Manifest)
	if err != nil {
		return err
	}
	m.put(list)
	from, to := h.FS.PathJoin(dir, m.Manifest), h.FS.PathJoin(dir, MirrorPrefix+m.Manifest)
	if err := vfs.Copy(h.FS, from, to); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	names, err := h.FS.List(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	for _, p := range before.Files {
		if !IsLog(p.Name) || !slices.Contains(names, p.Name) {
			continue // flushed in the meantime
		}
		what, err := c.Compare(p)
		if err != nil {
			return err
		}
		if what != "" {
			return kv.NewError(kv.CodeFileCorrupt, "the log of the store is damaged", errors.New(what))
		}
		m.put(p)
	}
	c.mu.now = m
	if err := c.create(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

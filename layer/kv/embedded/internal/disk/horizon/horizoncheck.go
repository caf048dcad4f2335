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

// Read takes the newest mark from the file. Where there is no file, the mark is empty: for verify to judge.
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
		// which was not told when the manifest went
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
	if synced { // a power cut leaves one of them
		return nil
	}
	h.Absent, h.mu.now, h.mu.count = true, Mark{}, 0
	if accepted, err := h.accepted(); accepted || err != nil {
		return err
	}
	return h.damaged("the file %s is not readable, %s", HorizonFile, withoutHorizon)
}

// Verify compares the files with the mark. It changes nothing. needed reads from the store whether it has had a
// horizon, where there is none.
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

// Markers is misnamed for an open store.
func (h *Horizon) Markers() (file, what string, err error) {
	before := h.Mark() // the manifest may change meanwhile, to a newer one
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
		return h.damaged("it is at version %d, was at %d: commits that were acknowledged are lost", last, was)
	}
	return nil
}

// CopyTo gives a copy of the store, made after the mark before, a horizon of its own. Of the logs, which were copied
// while they grew, it has what the mark has.
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
			continue // flushed since
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

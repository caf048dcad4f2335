package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
)

// read takes the newest mark from the file. Where there is no file, the mark is empty: for verify to judge.
func (h *horizon) read() error {
	f, err := h.fs.Open(h.path())
	if errors.Is(err, os.ErrNotExist) {
		h.absent = true
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
		if desc, err := h.peek(); err != nil || h.current(desc) != m.manifest { // which was not told when the manifest went
			h.mu.now.files = nil
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
	h.absent, h.mu.now, h.mu.count = true, mark{}, 0
	if accepted, err := h.accepted(); accepted || err != nil {
		return err
	}
	return h.damaged("the file %s is not readable, %s", horizonFile, withoutHorizon)
}

// verify compares the files with the mark. It changes nothing. needed reads from the store whether it has had a horizon,
// where there is none.
func (h *horizon) verify(needed func(directory) (bool, error)) error {
	desc, err := h.peek()
	if err != nil {
		return err
	}
	if h.absent {
		return h.mayBeAbsent(desc, needed)
	}
	m := h.mark()
	if _, what := h.misnamed(desc, m); what != "" {
		return h.damaged("%s", what)
	}
	for _, p := range m.files {
		if isManifest(p.name) && p.name != h.current(desc) {
			continue // Pebble does not read it, and removes it
		}
		what, err := h.compare(p)
		if err != nil {
			return err
		}
		if what == "" {
			continue
		}
		if !isManifest(p.name) {
			return h.damaged("%s", what)
		}
		if good, err := h.mirrored(p); err != nil || good == nil {
			return errors.Join(err, withoutManifest(h.dir, what))
		}
	}
	return nil
}

// markers is misnamed for an open store.
func (h *horizon) markers() (file, what string, err error) {
	before := h.mark() // the manifest may change meanwhile, to a newer one
	desc, err := h.peek()
	if err != nil {
		return "", "", err
	}
	file, what = h.misnamed(desc, before)
	return file, what, nil
}

// check compares the opened store's last version with the mark.
func (h *horizon) check(last int64) error {
	if was := h.version(); last < was {
		return h.damaged("it is at version %d, was at %d: commits that were acknowledged are lost", last, was)
	}
	return nil
}

// copyTo gives a copy of the store, made after the mark before, a horizon of its own. Of the logs, which were copied while they grew, it has what the mark
// has.
func (h *horizon) copyTo(dir string, before mark) error {
	c := newHorizon(h.fs, dir)
	desc, err := c.peek()
	if err != nil {
		return err
	}
	m := mark{version: before.version, manifest: c.current(desc)}
	list, err := c.whole(m.manifest)
	if err != nil {
		return err
	}
	m.put(list)
	from, to := h.fs.PathJoin(dir, m.manifest), h.fs.PathJoin(dir, mirrorPrefix+m.manifest)
	if err := vfs.Copy(h.fs, from, to); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	names, err := h.fs.List(dir)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	for _, p := range before.files {
		if !isLog(p.name) || !slices.Contains(names, p.name) {
			continue // flushed since
		}
		what, err := c.compare(p)
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

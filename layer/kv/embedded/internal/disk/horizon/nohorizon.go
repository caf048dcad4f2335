package horizon

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A store must have its horizon, since nothing else tells what may be missing. Only stores of programs without
// horizons, and copies that those made, open without one. The rule: a store that has horizonKey among its private
// keys does not open without the file. The key is written, and flushed to a table, when the store is first opened for
// writing, so that even a store that has lost its logs still has it.

// acceptFile is created by an operator to have a store opened without its horizon, once.
const acceptFile = "accept-missing-horizon"

// withoutHorizon is the operator's explanation of a missing horizon.
const withoutHorizon = "without it, lost commits cannot be detected; bring it " +
	"back, or, to start with what the other files contain, create an empty file " + acceptFile + " beside them"

// mayBeAbsent is Verify for a store without horizon.
func (h *Horizon) mayBeAbsent(desc *pebble.DBDesc, needed func(Directory) (bool, error)) error {
	if accepted, err := h.accepted(); accepted || err != nil {
		return err
	}
	had := false
	var err error
	if desc.Exists {
		had, err = needed(h.Directory)
	} else {
		had, err = h.hasFiles()
	}
	if err != nil || !had {
		return err
	}
	return h.damaged("the file %s is missing; %s", HorizonFile, withoutHorizon)
}

// Restore rewrites the file if it is gone, and reports whether it was.
func (h *Horizon) Restore() (gone bool, err error) {
	h.settling.Lock()
	defer h.settling.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.file == nil {
		return false, nil
	}
	if _, err := h.FS.Stat(h.path()); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err := h.create(); err != nil {
		return true, fmt.Errorf("embedded: %w", err)
	}
	old := io.Closer(h.mu.file)
	if h.mu.file, err = h.FS.OpenReadWrite(h.path(), vfs.WriteCategoryUnspecified); err != nil {
		return true, fmt.Errorf("embedded: %w", err)
	}
	return true, old.Close()
}

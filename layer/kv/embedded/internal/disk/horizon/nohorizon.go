package horizon

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A store must have its horizon, or nobody can tell what else it lacks. Stores of programs that knew no horizon, and
// copies that those made, open without one. The rule: a store that has horizonKey among its own keys does not open
// without the file. The key is written, and brought into a table, when the store is opened for writing the first time:
// a store that has lost its logs too still has it.

// acceptFile is made by an operator who wants a store opened without its horizon. It holds once.
const acceptFile = "accept-missing-horizon"

// withoutHorizon is what that means for an operator.
const withoutHorizon = "without it nobody can tell whether the other files have all that was acknowledged; bring it " +
	"back, or, to start with what they have, make an empty file " + acceptFile + " beside them"

// mayBeAbsent is verify where there is no horizon.
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

// Restore writes the file anew where it is gone, and reports whether it was.
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

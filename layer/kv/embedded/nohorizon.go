package embedded

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

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

// needHorizon has the store refused from now on where the horizon is missing.
func needHorizon(db *pebble.DB) error {
	if v, err := readCopy(db, horizonKey); err != nil || v != nil {
		return err
	}
	if err := db.Set(horizonKey, []byte{1}, syncInLog); err != nil {
		return fmt.Errorf("embedded: write that the store has a horizon: %w", err)
	}
	last, err := lastVersion(db)
	switch {
	case err != nil:
		return err
	case last == 0:
		err = db.Flush()
	default: // there may be much to write, and little room: nobody has to wait for it
		_, err = db.AsyncFlush()
	}
	if err != nil {
		return fmt.Errorf("embedded: write that the store has a horizon: %w", err)
	}
	return nil
}

// accepted reports whether an operator wants the store opened without its horizon.
func (h *horizon) accepted() (bool, error) {
	_, err := h.fs.Stat(h.fs.PathJoin(h.dir, acceptFile))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return true, nil
}

// acceptedOnce takes the operator's word back once there is a horizon.
func (h *horizon) acceptedOnce() error {
	accepted, err := h.accepted()
	if err != nil || !accepted {
		return err
	}
	if err := h.fs.Remove(h.fs.PathJoin(h.dir, acceptFile)); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// mayBeAbsent is verify where there is no horizon.
func (h *horizon) mayBeAbsent(desc *pebble.DBDesc) error {
	if accepted, err := h.accepted(); accepted || err != nil {
		return err
	}
	had := false
	var err error
	if desc.Exists {
		had, err = h.neededKey()
	} else {
		had, err = h.hasFiles()
	}
	if err != nil || !had {
		return err
	}
	return h.damaged("the file %s is missing; %s", horizonFile, withoutHorizon)
}

// hasFiles reports whether there are tables or logs: Pebble would take the directory for an empty one without the names
// of its markers, and remove them.
func (h *horizon) hasFiles() (bool, error) {
	names, err := h.fs.List(h.dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("embedded: %w", err)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || isLog(name) && fileNumber(name) > 0
	}), nil
}

// neededKey reads horizonKey, and changes nothing in the directory.
func (h *horizon) neededKey() (needed bool, err error) {
	o := Options{CacheBytes: 8 << 20, Logger: slog.New(slog.DiscardHandler), fs: h.fs}.withDefaults()
	e := &Engine{dir: h.dir, o: o, log: o.Logger, failing: make(chan struct{})}
	e.damage.init()
	e.compactions.more = make(chan struct{}, 1)
	db, err := e.openPebble(h.dir, e.readOnlyOptions(&readOnlyFS{FS: tableFS{h.fs, &e.damage}, dir: h.dir}))
	if err != nil {
		if isDenied(err) || !ofFiles(err) {
			return false, fmt.Errorf("embedded: look into the store in %s: %w", h.dir, err)
		}
		return false, damaged(h.dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	v, err := readCopy(db, horizonKey)
	if err != nil {
		return false, damaged(h.dir, err)
	}
	return v != nil, nil
}

// restoreHorizon puts the horizon of an open store back where somebody has removed it: all of it is in memory.
func (e *Engine) restoreHorizon() error {
	if err := e.lock.lost(); err != nil {
		return err // the directory is another one
	}
	gone, err := e.horizon.restore()
	if err != nil {
		return explainDenied(err)
	}
	if gone {
		e.log.Error("a file of the store was removed while the store was open, and was written anew",
			"file", horizonFile)
	}
	return nil
}

func (h *horizon) restore() (gone bool, err error) {
	h.settling.Lock()
	defer h.settling.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.file == nil {
		return false, nil
	}
	if _, err := h.fs.Stat(h.path()); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err := h.create(); err != nil {
		return true, fmt.Errorf("embedded: %w", err)
	}
	old := io.Closer(h.mu.file)
	if h.mu.file, err = h.fs.OpenReadWrite(h.path(), vfs.WriteCategoryUnspecified); err != nil {
		return true, fmt.Errorf("embedded: %w", err)
	}
	return true, old.Close()
}

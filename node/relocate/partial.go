package relocate

import (
	"errors"
	"fmt"
	"os"

	"github.com/divandb/divan/layer"
)

// Partial is the name of a file that is not complete yet.
func Partial(file string) string { return file + ".partial" }

// errLocked says that another process has a file for itself.
var errLocked = errors.New("locked")

// openPartial opens the partial file of a file that is not there, for this process alone, until it is closed. Conflict
// where another export has it.
func openPartial(file string) (*os.File, error) {
	for {
		if err := absent(file); err != nil {
			return nil, err
		}
		partial, err := os.OpenFile(Partial(file), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		mine, err := own(partial, file)
		if mine {
			return partial, nil
		}
		if err := errors.Join(err, partial.Close()); err != nil {
			return nil, err
		}
	}
}

// own locks a partial file. It is not mine, without an error, where it is another file by now: an export that ended
// between open and lock has renamed or removed it.
func own(partial *os.File, file string) (mine bool, err error) {
	if err := lock(partial); err != nil {
		if errors.Is(err, errLocked) {
			err = &layer.Error{Kind: layer.Conflict,
				Reason: fmt.Sprintf("another export is writing %s; wait for its end, or give another name",
					partial.Name())}
		}
		return false, err
	}
	opened, err := partial.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(partial.Name())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil || !os.SameFile(opened, named) {
		return false, err
	}
	if err := absent(file); err != nil { // it may have been completed, and this a new one
		if opened.Size() == 0 {
			err = errors.Join(err, os.Remove(partial.Name()))
		}
		return false, err
	}
	return true, nil
}

// absent is Exists where there is such a file.
func absent(file string) error {
	_, err := os.Stat(file)
	switch {
	case err == nil:
		return &layer.Error{Kind: layer.Exists, Reason: file + " exists already; give another name, or remove it"}
	case errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}

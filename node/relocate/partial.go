package relocate

import (
	"errors"
	"fmt"
	"os"

	"github.com/divandb/divan/layer"
)

// Partial returns the name of a file while it is incomplete.
func Partial(file string) string { return file + ".partial" }

// errLocked means that another process has locked a file.
var errLocked = errors.New("locked")

// openPartial opens the partial file of a file that does not exist yet, and locks it for this process until it is
// closed. The error is Conflict if another export has it locked.
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

// own locks a partial file. It returns false without an error if the name now refers to another file, because an export
// that ended between open and lock renamed or removed it.
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
	if err := absent(file); err != nil { // it may have been completed, so that this is a new one
		if opened.Size() == 0 {
			err = errors.Join(err, os.Remove(partial.Name()))
		}
		return false, err
	}
	return true, nil
}

// absent returns Exists if the file exists.
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

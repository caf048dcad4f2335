//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package relocate

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process, without waiting; errLocked where another has it. The lock ends with the file's
// last descriptor, so also when the process is killed: whatever comes then can go on with the file at once.
func lock(file *os.File) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return nil // a file system without locks: the check at the end finds out
		default:
			return err
		}
	}
}

// publish gives a complete file its name while it is still locked: nobody goes on with it in between.
func publish(partial *os.File, file string) error {
	return errors.Join(os.Rename(partial.Name(), file), partial.Close())
}

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package relocate

import (
	"errors"
	"os"
	"syscall"
)

// lock locks the file for this process without waiting. It returns errLocked if another process has the lock. The lock
// ends with the file's last descriptor, and so also when the process is killed: the next export can continue the file
// at once.
func lock(file *os.File) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return nil // a file system without locks: the check at the end detects collisions
		default:
			return err
		}
	}
}

// publish renames a complete file to its final name while it is still locked, so that no other export continues it in
// between.
func publish(partial *os.File, file string) error {
	return errors.Join(os.Rename(partial.Name(), file), partial.Close())
}

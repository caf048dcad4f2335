//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storelock

import (
	"errors"
	"os"
	"syscall"
)

// lockDescriptor locks an open directory until it is closed. locked is false if the file system cannot lock
// directories, as some network file systems.
func lockDescriptor(dir *os.File) (locked bool, err error) {
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, errLocked
		case !errors.Is(err, syscall.EINTR):
			return false, nil
		}
	}
}

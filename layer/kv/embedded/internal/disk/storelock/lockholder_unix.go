//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storelock

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Holder returns the other process that has locked the file, or 0. It only queries the lock: taking it could disturb
// a node that is starting.
func Holder(file string) (process int, known bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = f.Close() }() // opened for the query only
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		return 0, false, nil //nolint:nilerr // not every file system knows
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, true, nil
	}
	return int(lock.Pid), true, nil
}

package room

import (
	"errors"
	"os"
	"syscall"
)

// allocate makes f occupy size bytes of the disk.
func allocate(f *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return writeRandom(f, size)
		default:
			return err
		}
	}
}

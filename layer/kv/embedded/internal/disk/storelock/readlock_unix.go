//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storelock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// ReadLock prevents engines from writing to a store while it is read.
type ReadLock struct{ files []*os.File }

// TakeForReading takes shared locks on the store's directory and its file LOCK, as far as the file system can.
// Neither needs write permission.
func TakeForReading(dir string) (*ReadLock, error) {
	l := &ReadLock{}
	inUse := fmt.Errorf("embedded: the store in %s is in use by another process", dir)
	d, err := os.Open(dir)
	if err != nil {
		return nil, failure.ExplainDenied(fmt.Errorf("embedded: %w", err))
	}
	l.files = append(l.files, d)
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(inUse, l.Close())
	}
	f, err := os.Open(filepath.Join(dir, "LOCK"))
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, errors.Join(failure.ExplainDenied(fmt.Errorf("embedded: %w", err)), l.Close())
	}
	l.files = append(l.files, f)
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); errors.Is(err, syscall.EAGAIN) ||
		errors.Is(err, syscall.EACCES) {
		return nil, errors.Join(inUse, l.Close())
	}
	return l, nil
}

// Close releases the locks.
func (l *ReadLock) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

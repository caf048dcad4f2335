//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package node

import (
	"errors"
	"os"
	"syscall"
)

// lockDir locks a directory until unlock is called or the process ends. It returns errHeld if another process holds the
// lock, and os.ErrNotExist if the directory was removed meanwhile.
func lockDir(dir string) (unlock func() error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	}
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

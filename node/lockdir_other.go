//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package node

import "errors"

// lockDir cannot lock a directory on this system.
func lockDir(string) (unlock func() error, err error) { return nil, errors.ErrUnsupported }

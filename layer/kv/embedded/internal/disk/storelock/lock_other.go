//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package storelock

import "os"

// lockDescriptor does not lock directories on this system.
func lockDescriptor(*os.File) (locked bool, err error) { return false, nil }

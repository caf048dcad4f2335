//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package storelock

import "os"

// lockDescriptor returns false: directories cannot be locked on this system.
func lockDescriptor(*os.File) (locked bool, err error) { return false, nil }

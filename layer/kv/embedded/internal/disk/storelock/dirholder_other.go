//go:build !linux

package storelock

// DirHolder does not know on this system.
func DirHolder(string) (process int) { return 0 }

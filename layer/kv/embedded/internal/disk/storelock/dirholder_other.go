//go:build !linux

package storelock

// DirHolder returns 0: the holder is unknown on this system.
func DirHolder(string) (process int) { return 0 }

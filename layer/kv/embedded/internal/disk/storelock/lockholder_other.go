//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package storelock

// Holder returns false: the holder is unknown on this system.
func Holder(string) (process int, known bool, err error) { return 0, false, nil }

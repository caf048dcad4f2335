//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

// lockHolder does not know on this system.
func lockHolder(string) (process int, known bool, err error) { return 0, false, nil }

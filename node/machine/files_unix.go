//go:build unix

package machine

import "syscall"

// openFiles returns how many files the process may have open.
func openFiles() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // it is signed on some systems
}

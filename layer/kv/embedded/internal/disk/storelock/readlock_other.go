//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package storelock

// ReadLock does not lock anything on this system: do not start a node on a store that is being read.
type ReadLock struct{}

// TakeForReading takes no lock.
func TakeForReading(string) (*ReadLock, error) { return &ReadLock{}, nil }

// Close does nothing.
func (*ReadLock) Close() error { return nil }

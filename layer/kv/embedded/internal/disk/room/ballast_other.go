//go:build !linux

package room

import "os"

// allocate makes f occupy size bytes of the disk.
func allocate(f *os.File, size int64) error { return writeRandom(f, size) }

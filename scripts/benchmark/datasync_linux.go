package main

import (
	"os"
	"syscall"
)

// datasync writes a file's content to disk, as a log needs it, without the timestamps that fsync also writes.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

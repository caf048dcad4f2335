package main

import (
	"os"
	"syscall"
)

// datasync has a file's content on the disk, as a log needs it: without the times that a whole fsync writes too.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

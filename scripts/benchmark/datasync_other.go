//go:build !linux

package main

import "os"

// datasync writes a file to disk.
func datasync(f *os.File) error { return f.Sync() }

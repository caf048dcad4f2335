//go:build !unix

package machine

// openFiles reports that the limit is unknown on this system.
func openFiles() (n uint64, ok bool) { return 0, false }

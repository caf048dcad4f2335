//go:build !faults

package runtime

// inject makes actors fail in tests of built binaries (fault_on.go).
func inject(string) {}

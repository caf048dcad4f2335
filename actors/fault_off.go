//go:build !faults

package actors

// inject is where tests of built binaries have actors fail (fault_on.go).
func inject(string) {}

//go:build !faults

package runtime

// inject is where tests of built binaries have actors fail (fault_on.go).
func inject(string) {}

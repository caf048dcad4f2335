//go:build linux || darwin || freebsd || netbsd || openbsd

package engine

import "syscall"

// Engine memory comes from the kernel directly: it is touched page by page, given back whole, and can be taken away
// from a function that does not stop (see runtime.kill).

func mapMemory(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapMemory(mem []byte) error { return syscall.Munmap(mem) }

// protectMemory makes every further access to mem fault.
func protectMemory(mem []byte) error { return syscall.Mprotect(mem, syscall.PROT_NONE) }

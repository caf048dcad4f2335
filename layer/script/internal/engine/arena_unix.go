//go:build linux || darwin || freebsd || netbsd || openbsd

package engine

import "syscall"

// Engine memory comes directly from the kernel: pages are allocated on first use, freeing is one call, and access can
// be revoked from a function that does not stop (see Call.kill).

func mapMemory(size int) ([]byte, error) {
	return syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapMemory(mem []byte) error { return syscall.Munmap(mem) }

// protectMemory makes every further access to mem fault.
func protectMemory(mem []byte) error { return syscall.Mprotect(mem, syscall.PROT_NONE) }

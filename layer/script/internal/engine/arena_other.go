//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package engine

import "errors"

// On systems without memory protection, engine memory is ordinary memory, and a function is stopped only where the
// engine checks for an interrupt.

func mapMemory(size int) ([]byte, error) { return make([]byte, size), nil }

func unmapMemory([]byte) error { return nil }

func protectMemory([]byte) error { return errors.ErrUnsupported }

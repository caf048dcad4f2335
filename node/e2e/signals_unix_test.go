//go:build unix

package e2e_test

import (
	"os"
	"syscall"
)

// stopSignal pauses a process, like a machine that sleeps, and continueSignal continues it.
var stopSignal, continueSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT

// lockDirectory locks a directory as a node does that writes a backup there.
func lockDirectory(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

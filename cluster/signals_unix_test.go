//go:build unix

package cluster_test

import (
	"os"
	"syscall"
)

// stopSignal pauses a process, like a machine that sleeps, and continueSignal continues it.
var stopSignal, continueSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT

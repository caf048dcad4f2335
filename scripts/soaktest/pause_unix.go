//go:build unix

package main

import "syscall"

// pause stops the process without ending it, like a machine that sleeps. resume continues it.
func (n *node) pause() error  { return n.cmd.Process.Signal(syscall.SIGSTOP) }
func (n *node) resume() error { return n.cmd.Process.Signal(syscall.SIGCONT) }

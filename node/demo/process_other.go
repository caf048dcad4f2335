//go:build !unix

package demo

import (
	"os"
	"os/exec"
)

// separate does nothing, since there are no process groups.
func separate(*exec.Cmd) {}

// interrupt ends a node. Windows has no signal that asks for it, and no acknowledged write depends on it.
func interrupt(p *os.Process) { _ = p.Kill() }

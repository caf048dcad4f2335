package demo

import (
	"os"
	"os/exec"
	"syscall"
)

// separate gives the process a group of its own, so that Ctrl-C does not stop all nodes at once, and lets it end with
// the demo if that is killed.
func separate(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// interrupt asks a node to stop.
func interrupt(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

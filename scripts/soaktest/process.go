package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startTimeout is how long a node may take to be ready.
const startTimeout = 30 * time.Second

// node is a running process.
type node struct {
	cmd    *exec.Cmd
	base   string // base URL of HTTP requests
	log    string // path of its log
	exited chan struct{}
	err    error // of the process; valid once exited is closed
	http   *http.Client
}

// spec is how to start a node. Its ports are kept over restarts.
type spec struct {
	name     string
	dir      string // for its settings, log and data
	host     string // its listen address
	ports    [4]int // http, sql, gossip, remoting
	settings string // more lines for node.yaml
	prefix   []string
	env      []string
	admin    string
	binary   string // overrides the environment's
	// transport reaches a node on another host; nil means the default one.
	transport *http.Transport
}

// newSpec returns a node on free ports of this machine, with its data in dir.
func newSpec(ctx context.Context, name, dir string) (*spec, error) {
	s := &spec{name: name, dir: dir, host: "127.0.0.1"}
	for i := range s.ports {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		s.ports[i] = port
	}
	return s, nil
}

// freePort returns a port below those that the system uses for outgoing connections, so that nothing takes it between a
// kill and a start.
func freePort(ctx context.Context) (int, error) {
	for range 1000 {
		nextPort++
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", nextPort))
		if err == nil {
			return nextPort, l.Close()
		}
	}
	return 0, errors.New("no free port")
}

var nextPort = 14000 + os.Getpid()%12000

func (s *spec) addr(i int) string { return fmt.Sprintf("%s:%d", s.host, s.ports[i]) }

// errRefused wraps the last line of the log of a node that did not start.
var errRefused = errors.New("the node refused to start")

// start runs the binary and waits until it is ready. If the node ends instead, the error is errRefused.
func (s *spec) start(ctx context.Context, binary string) (*node, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("name: %q\ndata: %q\nhttp: {listen: %q}\nsql: {listen: %q}\n%s", s.name,
		filepath.Join(s.dir, "data"),
		s.addr(0), s.addr(1), s.settings)
	if !strings.Contains(s.settings, "cluster:") {
		config += fmt.Sprintf("cluster: {gossip: %q, remoting: %q}\n", s.addr(2), s.addr(3))
	}
	file := filepath.Join(s.dir, "node.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	if s.binary != "" {
		binary = s.binary
	}
	args := append(append([]string{}, s.prefix...), binary, "-config", file)
	if s.admin != "" {
		args = append(args, "-admin", s.admin)
	}
	// the round ends the process itself
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	cmd.Stderr, cmd.Dir = log, s.dir
	cmd.Env = append(append(os.Environ(), "DIVAN_LOG_LEVEL=info"), s.env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &node{
		cmd: cmd, base: "http://" + s.addr(0), log: log.Name(), exited: make(chan struct{}),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	if s.transport != nil {
		n.http.Transport = s.transport
	}
	if s.admin != "" {
		n.base = "http://" + s.admin + "@" + s.addr(0)
	}
	ready := make(chan struct{})
	go func() {
		if r := bufio.NewReader(out); lineOf(r) != "" {
			close(ready)
		}
		n.err = cmd.Wait()
		close(n.exited)
	}()
	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-ready:
		return n, nil
	case <-n.exited:
		return nil, fmt.Errorf("%w: %s", errRefused, lastLine(log.Name()))
	case <-timer.C:
		n.kill()
		return nil, fmt.Errorf("the node was not ready after %v; its log is %s", startTimeout, log.Name())
	case <-ctx.Done():
		n.kill()
		return nil, ctx.Err()
	}
}

func lineOf(r *bufio.Reader) string {
	line, err := r.ReadString('\n')
	if err != nil {
		return ""
	}
	return line
}

func lastLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// kill ends the process without giving it a chance to clean up.
func (n *node) kill() {
	_ = n.cmd.Process.Kill() // it may have ended
	<-n.exited
	n.http.CloseIdleConnections()
}

// stop asks the process to end. It must succeed within 10 seconds.
func (n *node) stop() error {
	defer n.http.CloseIdleConnections()
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.NewTimer(10 * time.Second)
	defer timer.Stop()
	select {
	case <-n.exited:
		if n.err != nil {
			return fmt.Errorf("the node ended with %w: %s", n.err, lastLine(n.log))
		}
		return nil
	case <-timer.C:
		n.kill()
		return fmt.Errorf("the node did not end within 10 s of SIGTERM; its log is %s", n.log)
	}
}

// panicked returns the panic in the node's log, or "".
func panicked(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
			strings.Contains(line, `"msg":"panic`) {
			return line
		}
	}
	return ""
}

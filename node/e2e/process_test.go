package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 20 * time.Second // for a loaded machine; scripts/bench measures the real time
	stopTimeout  = 5 * time.Second  // guaranteed (docs/clauses.md, "Program")
)

// process is a running divan.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *lines
	stderr *written
	exited chan struct{} // closed when the process has ended, after err is set
	err    error

	ready map[string]string // fields of the ready line
}

func (p *process) http() string { return "http://" + p.ready["http"] }

// launch starts the binary in a directory of its own without a node.yaml, and returns at once.
func launch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return launchWith(t, nil, dir, args...)
}

func launchWith(t *testing.T, stdin io.Reader, dir string, args ...string) *process {
	t.Helper()
	return launchBinary(t, divan, stdin, dir, args...)
}

// launchBinary starts a binary other than the one under test.
func launchBinary(t *testing.T, binary string, stdin io.Reader, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), stdout: newLines(), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdin = dir, stdin
	p.cmd.Env = append(withoutDivan(os.Environ()), storeEnvironment(dir, args)...)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	p.stderr = &written{stderr.Name()}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		p.stdout.end()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("standard error of pid %d:\n%s", p.cmd.Process.Pid, p.stderr)
		}
	})
	return p
}

func withoutDivan(env []string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, "DIVAN_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// freePorts are flags for running several nodes on one machine.
var freePorts = []string{"-http", "127.0.0.1:0", "-sql", "127.0.0.1:0", "-gossip", "127.0.0.1:0"}

// start runs a node with its data in dir and waits for its ready line.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := launch(t, dir, append(append([]string{"-data", dir + "/data"}, freePorts...), args...)...)
	p.waitReady()
	return p
}

func (p *process) waitReady() {
	p.t.Helper()
	line, err := p.stdout.next(startTimeout)
	if err != nil {
		p.t.Fatalf("no ready line: %v; standard error:\n%s", err, p.stderr)
	}
	p.parseReady(line)
}

func (p *process) parseReady(line string) {
	p.t.Helper()
	fields, ok := strings.CutPrefix(line, "divan ready ")
	if !ok {
		p.t.Fatalf("the first line on standard output is %q", line)
	}
	p.ready = map[string]string{}
	for field := range strings.FieldsSeq(fields) {
		k, v, _ := strings.Cut(field, "=")
		p.ready[k] = v
	}
}

// stop asks the process to end and checks that it does so cleanly and in time.
func (p *process) stop(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	if code := p.wait(stopTimeout + 5*time.Second); code != 0 {
		p.t.Errorf("after %v the process exited with %d", sig, code)
	}
	if took := time.Since(began); took > stopTimeout {
		p.t.Errorf("after %v the process took %v to exit", sig, took)
	}
	if rest := p.stdout.rest(); rest != "" {
		p.t.Errorf("more than the ready line on standard output: %q", rest)
	}
}

// kill ends the process as a power cut would, if it is still running.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-p.exited
}

// wait returns the exit status.
func (p *process) wait(atMost time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(atMost):
		p.t.Fatalf("the process still runs after %v; standard error:\n%s", atMost, p.stderr)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		p.t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// written is what a process writes to a file. Unlike what comes through a pipe, all of it is there as soon as the
// process goes on: a test can read what was logged before the answer to a request.
type written struct{ path string }

// whole returns everything so far.
func (w *written) whole() string {
	text, err := os.ReadFile(w.path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// String returns the end, for messages.
func (w *written) String() string { return tail(w.whole()) }

func tail(text string) string {
	if len(text) > 8000 {
		text = "[...]" + text[len(text)-8000:]
	}
	return text
}

// lines receives a process's output. It keeps everything and hands lines out as they arrive.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
	in  *io.PipeWriter
	out chan string // closed at the end
}

func newLines() *lines {
	r, w := io.Pipe()
	l := &lines{in: w, out: make(chan string, 10_000)}
	go func() {
		defer close(l.out)
		for s := bufio.NewScanner(r); s.Scan(); {
			select {
			case l.out <- s.Text():
			default: // no one takes the lines of a verbose log; all of it is kept anyway
			}
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	return l
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.all.Write(p)
	l.mu.Unlock()
	return l.in.Write(p)
}

func (l *lines) end() { l.in.Close() }

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return tail(l.all.String())
}

func (l *lines) next(atMost time.Duration) (string, error) {
	select {
	case line, ok := <-l.out:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-time.After(atMost):
		return "", errors.New("timed out")
	}
}

// rest returns what came after the lines already taken, once the process has ended.
func (l *lines) rest() string {
	var all []string
	for line := range l.out {
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// killProcess ends a process that the test has not started itself.
func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

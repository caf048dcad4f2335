package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// As a service of systemd: the node says when it is ready, that it is alive, and that it stops.
func TestProgram_Notify(t *testing.T) {
	socket := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	next := func() string {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(startTimeout)) // a failure shows in Read
		buf := make([]byte, 1024)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("no message: %v", err)
		}
		return string(buf[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket.Name)
	t.Setenv("WATCHDOG_USEC", "150000")
	p := start(t, t.TempDir(), "-name", "served")
	if got := next(); !strings.HasPrefix(got, "READY=1\nSTATUS=ready name=served http=127.0.0.1:") {
		t.Errorf("got %q", got)
	}
	for range 3 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for got := next(); !strings.HasPrefix(got, "STOPPING=1\nEXTEND_TIMEOUT_USEC=9000000\n"); got = next() {
		if got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
	if status := p.wait(startTimeout); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

// check warns of a data directory that anyone can write. The log says what it means if the directory is in memory.
func TestProgram_DataDirectory(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "data"), 0o777); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	if out, _ := command(t, dir, 0, "check", "-data", "data"); !strings.Contains(out, "run: chmod 700 data") {
		t.Errorf("check says %q", out)
	}
	inMemory, err := os.MkdirTemp("/dev/shm", "divan-e2e-") //nolint:usetesting // in memory
	if err != nil {
		skip(t, "there is no file system in memory: %v", err)
	}
	defer os.RemoveAll(inMemory)
	p := start(t, inMemory)
	if !strings.Contains(p.stderr.whole(), "suspiciously fast") {
		t.Errorf("the log does not mention the disk:\n%s", p.stderr)
	}
	p.stop(syscall.SIGTERM)
	if p = start(t, inMemory); strings.Contains(p.stderr.whole(), "suspiciously fast") {
		t.Errorf("the log mentions the disk again:\n%s", p.stderr)
	}
}

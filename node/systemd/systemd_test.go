//go:build linux

package systemd_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/systemd"
)

// manager is a service manager's socket.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

func newManager(t *testing.T) *manager {
	t.Helper()
	addr := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}
	conn, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", addr.Name)
	return &manager{t, conn}
}

// next returns the next message, or "" if none comes within d.
func (m *manager) next(d time.Duration) string {
	m.t.Helper()
	if err := m.conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		m.t.Fatal(err)
	}
	buf := make([]byte, 1024)
	n, err := m.conn.Read(buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func TestReadyAndStopping(t *testing.T) {
	m, log := newManager(t), slog.New(slog.DiscardHandler)
	systemd.Ready("here", log)
	if got := m.next(time.Minute); got != "READY=1\nSTATUS=here" {
		t.Errorf("got %q", got)
	}
	systemd.Stopping(90*time.Second, log)
	if got := m.next(time.Minute); got != "STOPPING=1\nEXTEND_TIMEOUT_USEC=90000000\nSTATUS=stopping" {
		t.Errorf("got %q", got)
	}
}

// Reports come while the node answers, stop when it does not, and come again when it does.
func TestWatch(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "30000") // 30 ms
	t.Setenv("WATCHDOG_PID", "")
	var log strings.Builder
	var broken atomic.Bool
	asked := make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		systemd.Watch(ctx, func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the node may take for ever to answer")
			}
			select {
			case asked <- struct{}{}:
			default:
			}
			if broken.Load() {
				return errors.New("silence")
			}
			return nil
		}, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	for range 3 {
		if got := m.next(time.Minute); got != "WATCHDOG=1" {
			t.Fatalf("got %q", got)
		}
	}
	broken.Store(true)
	for m.next(20*time.Millisecond) != "" { // what was under way
	}
	for range cap(asked) {
		select {
		case <-asked:
			continue
		default:
		}
		break
	}
	<-asked
	<-asked // two failures since
	if got := m.next(time.Millisecond); got != "" {
		t.Errorf("%q, although the node does not answer", got)
	}
	broken.Store(false)
	if got := m.next(time.Minute); got != "WATCHDOG=1" {
		t.Errorf("got %q", got)
	}
	cancel()
	<-done
	if n := strings.Count(log.String(), "does not answer itself"); n != 1 {
		t.Errorf("the failure is logged %d times:\n%s", n, log.String())
	}
}

func TestWatch_notWanted(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", "")
	systemd.Watch(t.Context(), func(context.Context) error { return nil }, slog.New(slog.DiscardHandler))
	if got := m.next(time.Millisecond); got != "" {
		t.Errorf("got %q", got)
	}
}

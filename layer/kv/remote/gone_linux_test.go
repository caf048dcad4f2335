package remote_test

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv/remote"
)

// silentAddress returns an address at which connections neither succeed nor fail, as at a machine that is gone: of a
// socket whose queue of connections is full.
func silentAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	for range 8 { // more than the queue holds
		conn, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("this system takes any number of connections")
	return ""
}

// An attempt to reach a machine that is gone ends after the time-out, so that the next one finds it when it is back.
func TestDial_gone(t *testing.T) {
	e := remote.Unconnected(silentAddress(t), remote.Options{Secret: "s", Timeout: 200 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	if err := e.Dial(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("the attempt ended after %v with %v", time.Since(began), err)
	}
}

package conns_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/api/internal/conns"
)

// full is a listener that fails a number of times for lack of files before each connection.
type full struct {
	net.Listener
	failures, left int
}

func (l *full) Accept() (net.Conn, error) {
	if l.left--; l.left >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	l.left = l.failures
	mine, theirs := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	return mine, nil
}

// Without files for another connection, the one that was idle longest makes room, and if all are busy one is accepted
// to be told so, instead of waiting for ever.
func TestListener_tooManyFiles(t *testing.T) { synctest.Test(t, tooManyFiles) }

func tooManyFiles(t *testing.T) {
	inner := &full{}
	l := conns.NewListener(inner, conns.Limits{})
	idle := accept(t, l)
	time.Sleep(time.Minute)
	inner.left = 1
	if c := accept(t, l); c.Surplus {
		t.Error("a connection is surplus although another one was idle")
	}
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the idle connection: %v", err)
	}

	l.SetSpare("missing") // it can be opened no more once it is closed
	inner.left = 1
	surplus := accept(t, l) // the other one is new, and its request may be on its way
	if !surplus.Surplus || l.Open() != 2 {
		t.Errorf("a connection without a file for it is not surplus, or not one of 2 but of %d", l.Open())
	}
	for range 2 {
		l.ConnState(surplus, http.StateActive)
		if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("accepted without a file for an answer to the next one: %v", err)
		}
	}
	l.SetSpare(os.DevNull)
	if c := accept(t, l); c.Surplus {
		t.Error("surplus although there are files again")
	}
	inner.left = 1 << 20
	if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
		t.Error(err)
	}
}

func accept(t *testing.T, l *conns.Listener) *conns.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*conns.Conn)
}

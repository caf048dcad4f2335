package conns

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/divandb/divan/node/api/internal/fault"
)

const (
	// pieceSize is how much of a response a client must accept within Limits.Write.
	pieceSize = 32 << 10
)

// Limits bound connections. Zero means the default of node.yaml.
type Limits struct {
	// Max is the maximum number of connections: 8192. Beyond it, the one that has been idle longest is closed for a new
	// one. If all are busy, new ones are answered with 503.
	Max int
	// Write is how long a client may take to accept 32 KiB of a response: 2 minutes. A slower client is cut off, so
	// that it does not hold a snapshot forever.
	Write time.Duration
}

// Listener bounds the connections of an HTTP server. Pass it to http.Server.Serve, ConnState and ConnContext. It is
// safe for concurrent use.
type Listener struct {
	net.Listener
	limits Limits
	// spare is an open file that is closed when the process may open no more, so that one more connection can be
	// accepted and answered. Only Accept uses it.
	spare spareFile

	mu struct {
		sync.Mutex
		open map[*Conn]struct{}
		idle *list.List // of *Conn without a current request; the longest idle first
	}
}

// NewListener bounds the connections of l.
func NewListener(l net.Listener, limits Limits) *Listener {
	if limits.Max == 0 {
		limits.Max = 8192
	}
	if limits.Write == 0 {
		limits.Write = 2 * time.Minute
	}
	b := &Listener{Listener: l, limits: limits, spare: spareFile{name: os.DevNull}}
	b.spare.open()
	b.mu.open, b.mu.idle = map[*Conn]struct{}{}, list.New()
	return b
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	of      *Listener
	began   time.Time     // when it was accepted
	place   *list.Element // in of.mu.idle; nil during a request
	Surplus bool          // too many connections: the first request on it is answered with 503
	// holds is the pace at which the client must read the response while its request holds memory for its body; else
	// nil. It belongs to the request's goroutine, the only one that writes.
	holds *Pace
}

// Accept waits for a connection and makes room for it.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, surplus, err := l.accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: inner, of: l, Surplus: surplus, began: time.Now()}
		evicted, ok := l.admit(c)
		if evicted != nil {
			_ = evicted.Conn.Close() // its reader notices
		}
		if ok {
			return c, nil
		}
		_ = inner.Close() // too many even for an answer
	}
}

// accept accepts a connection. If the process may open no more files, it closes the connection that has been idle
// longest, or accepts a surplus one in the place of the spare file. So a client gets an answer, instead of waiting in
// the system's queue for a connection to end.
func (l *Listener) accept() (conn net.Conn, surplus bool, err error) {
	for range acceptAttempts {
		if l.spare.open() {
			if conn, err = l.Listener.Accept(); !isFileLimit(err) {
				break
			}
			if !l.evictIdle() {
				l.spare.close()
				if conn, err = l.Listener.Accept(); !isFileLimit(err) {
					return conn, !l.spare.open(), err // files may have been closed since
				}
			}
		} else {
			err = syscall.EMFILE
			l.evictIdle()
		}
		time.Sleep(acceptPause) // a file is closed when its reader has noticed
	}
	if errors.Is(err, net.ErrClosed) {
		l.spare.close()
	}
	return conn, false, err
}

// Accept is tried for half a second, then the error is returned: http.Server logs it, and calls Accept again. A
// connection is fresh until its first request has certainly been read.
const (
	acceptAttempts, acceptPause = 50, 10 * time.Millisecond
	acceptFresh                 = time.Second
)

// evictIdle closes the connection that has been idle longest. It returns false if there is none, or it has just been
// accepted, so that its first request, or the answer to it, may be on its way.
func (l *Listener) evictIdle() bool {
	l.mu.Lock()
	oldest := l.mu.idle.Front()
	if oldest == nil || time.Since(oldest.Value.(*Conn).began) < acceptFresh {
		l.mu.Unlock()
		return false
	}
	c := oldest.Value.(*Conn)
	l.forget(c)
	l.mu.Unlock()
	_ = c.Conn.Close()
	return true
}

// spareFile is a file that is open for nothing.
type spareFile struct {
	name string
	file *os.File
}

// open opens the file, and returns false if the process may open no more.
func (s *spareFile) open() bool {
	if s.file == nil {
		s.file, _ = os.Open(s.name)
	}
	return s.file != nil
}

// close closes the file.
func (s *spareFile) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// isFileLimit reports whether a connection was not accepted because the process, or the machine, has too many files.
func isFileLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// surplusShare: up to Max/surplusShare connections beyond Max are answered with an error instead of just closed.
const surplusShare = 16

func (l *Listener) admit(c *Conn) (evicted *Conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.open) >= l.limits.Max {
		if oldest := l.mu.idle.Front(); oldest != nil {
			evicted = oldest.Value.(*Conn)
			l.forget(evicted)
		} else if c.Surplus = true; len(l.mu.open) >= l.limits.Max+max(1, l.limits.Max/surplusShare) {
			return nil, false
		}
	}
	l.mu.open[c] = struct{}{}
	c.place = l.mu.idle.PushBack(c) // until its first request arrives
	return evicted, true
}

// forget removes a connection, possibly for the second time. The caller holds the lock.
func (l *Listener) forget(c *Conn) {
	delete(l.mu.open, c)
	l.busy(c)
}

func (l *Listener) busy(c *Conn) {
	if c.place != nil {
		l.mu.idle.Remove(c.place)
		c.place = nil
	}
}

// ConnState is the hook for http.Server.ConnState.
func (l *Listener) ConnState(conn net.Conn, state http.ConnState) {
	c := plainConn(conn)
	if c == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.mu.open[c]; !ok {
		return
	}
	switch state {
	case http.StateNew:
	case http.StateActive:
		l.busy(c)
	case http.StateIdle:
		if c.place == nil {
			c.place = l.mu.idle.PushBack(c)
		}
	case http.StateHijacked, http.StateClosed:
		l.forget(c)
	}
}

// Open returns the number of connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.open)
}

type connKey struct{}

// ConnContext is the hook for http.Server.ConnContext. It lets handlers find the connection in their context.
func (l *Listener) ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// plainConn returns the Conn below a TLS connection, or nil if there is none.
func plainConn(conn any) *Conn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*Conn)
	return c
}

// Of returns a request's connection, or nil if its server has no Listener.
func Of(r *http.Request) *Conn { return plainConn(r.Context().Value(connKey{})) }

// HalfClosed tells a request's client that no more is sent, and returns the connection to read from, or nil if the
// server has no Listener. Under TLS it returns the connection below TLS, because what arrives is discarded anyway.
func HalfClosed(r *http.Request) *Conn {
	over := r.Context().Value(connKey{})
	conn := plainConn(over)
	if half, ok := over.(interface{ CloseWrite() error }); ok && conn != nil {
		_ = half.CloseWrite() // an error means that the connection is gone, which the next read reports
	}
	return conn
}

// Hold requires the client to read at HolderPace from now on, since its request holds memory that others may wait for.
// Only the request's goroutine may call Hold and Release.
func (c *Conn) Hold() {
	holds := HolderPace
	c.holds = &holds
}

// Release ends Hold.
func (c *Conn) Release() { c.holds = nil }

// ErrConnections is the answer on a connection beyond the limit.
var ErrConnections = &fault.Fault{
	Status: http.StatusServiceUnavailable, Name: "service unavailable",
	Reason: "There are too many connections (http.max_connections of the node's settings, or its limit on open " +
		"files). Try again later.",
	Header: http.Header{"Retry-After": {fault.RetryAfter}, "Connection": {"close"}},
}

// Write gives the client a time limit for each piece, and a shorter one while the request holds memory that others wait
// for.
func (c *Conn) Write(p []byte) (n int, err error) {
	if answer := unread(p); answer != nil {
		_, err := c.write(answer)
		return len(p), err
	}
	return c.write(p)
}

func (c *Conn) write(p []byte) (n int, err error) {
	for {
		piece := p[n:min(len(p), n+pieceSize)]
		left, began := c.of.limits.Write, time.Now()
		if c.holds != nil {
			left = min(left, c.holds.Left())
		}
		if err := c.Conn.SetWriteDeadline(began.Add(left)); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(piece)
		if c.holds != nil {
			c.holds.Took(m, time.Since(began))
		}
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// CloseWrite closes the sending side.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

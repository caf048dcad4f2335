package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// ErrServerClosed is returned by Serve after Shutdown.
var ErrServerClosed = errors.New("pgwire: server closed")

// Server accepts connections and keeps track of them.
type Server struct {
	opts Options
	log  *slog.Logger
	// mock is the key from which salts for unknown users are derived, so that they cannot be distinguished from known
	// users.
	mock [32]byte
	// base is the parent of every connection's context. stop ends it when the context of Shutdown has ended.
	base context.Context
	stop context.CancelCauseFunc
	wg   sync.WaitGroup // one per connection
	// spareFile is the path of the spare file of Serve.
	spareFile string

	mu struct {
		sync.Mutex
		closed    bool
		listeners map[net.Listener]struct{}
		conns     map[*conn]struct{} // all, including those in start-up
		starting  []*conn            // those in start-up, oldest first
		seats     int                // number of connections counted in MaxConnections
		keys      map[uint32]*conn   // authenticated connections by process id
	}
}

// NewServer returns a server that is not listening yet.
func NewServer(opts Options) *Server {
	opts.MaxConnections = MaxConnections(opts.MaxConnections)
	if opts.StartupTimeout <= 0 {
		opts.StartupTimeout = startupTimeout
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	s := &Server{opts: opts, log: opts.Log, spareFile: os.DevNull}
	_, _ = rand.Read(s.mock[:]) // crypto/rand never fails
	s.base, s.stop = context.WithCancelCause(context.Background())
	s.mu.listeners = map[net.Listener]struct{}{}
	s.mu.conns = map[*conn]struct{}{}
	s.mu.keys = map[uint32]*conn{}
	return s
}

// Serve accepts connections on l until Shutdown, which closes l. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return ErrServerClosed
	}
	s.mu.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.mu.listeners, l)
		s.mu.Unlock()
	}()
	spare := spareFile{}
	defer spare.close()
	delay := time.Duration(0)
	for {
		nc, surplus, err := s.accept(l, &spare)
		if err != nil {
			if s.isClosed() {
				return ErrServerClosed
			}
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() || isFileLimit(err) {
				// Out of file descriptors: wait for connections to end, as net/http does.
				delay = min(max(2*delay, 5*time.Millisecond), time.Second)
				s.log.Warn("sql accept failed, trying again", "err", err, "in", delay)
				select {
				case <-time.After(delay):
					continue
				case <-s.base.Done():
					return ErrServerClosed
				}
			}
			return err
		}
		delay = 0
		if c := s.admit(nc); c != nil {
			c.surplus = surplus
			go c.run()
		}
	}
}

// accept accepts a connection. If the process may open no more files, it accepts a surplus one in the place of the
// spare file, so that its client is told so, and need not wait in the system's queue for another one to leave.
func (s *Server) accept(l net.Listener, spare *spareFile) (nc net.Conn, surplus bool, err error) {
	if !spare.open(s.spareFile) { // the surplus connection before has not ended yet
		return nil, false, syscall.EMFILE
	}
	if nc, err = l.Accept(); !isFileLimit(err) {
		return nc, false, err
	}
	spare.close()
	if nc, err = l.Accept(); err != nil {
		return nil, false, err
	}
	return nc, !spare.open(s.spareFile), nil // files may have been closed since
}

// spareFile is a file that is open for nothing.
type spareFile struct{ file *os.File }

// open opens the file, and returns false if the process may open no more.
func (f *spareFile) open(name string) bool {
	if f.file == nil {
		f.file, _ = os.Open(name)
	}
	return f.file != nil
}

// close closes the file.
func (f *spareFile) close() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// isFileLimit reports whether accepting failed temporarily: for lack of file descriptors, or because the client has
// already disconnected.
func isFileLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// admit registers a connection, or closes it if the server is closing.
func (s *Server) admit(nc net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		_ = nc.Close()
		return nil
	}
	c := newConn(s, nc)
	if len(s.mu.starting) >= maxStarting {
		// End the one that has been in start-up the longest. If new ones were refused instead, silent clients could
		// lock out everyone.
		s.mu.starting[0].evict()
		s.mu.starting = s.mu.starting[1:]
	}
	s.mu.conns[c] = struct{}{}
	s.mu.starting = append(s.mu.starting, c)
	s.wg.Add(1)
	return c
}

var (
	errTooMany   = sqlstate.New(sqlstate.TooManyConnections, "sorry, too many clients already")
	errAdminOnly = sqlstate.New(sqlstate.TooManyConnections,
		"remaining connection slots are reserved for non-replication superuser connections")
)

// seat ends the start-up of a connection and counts it in MaxConnections. The last slots are for admins.
func (s *Server) seat(c *conn, admin bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started(c)
	most := s.opts.MaxConnections
	switch {
	case s.mu.seats >= most:
		return errTooMany
	case !admin && s.mu.seats >= max(1, most-adminSlots):
		return errAdminOnly
	}
	s.mu.seats++
	c.seated = true
	return nil
}

// started removes a connection from those in start-up. mu is held.
func (s *Server) started(c *conn) {
	if i := slices.Index(s.mu.starting, c); i >= 0 {
		s.mu.starting = slices.Delete(s.mu.starting, i, i+1)
	}
}

// drop removes a connection whose goroutine ends.
func (s *Server) drop(c *conn) {
	s.mu.Lock()
	s.started(c)
	if c.seated {
		s.mu.seats--
	}
	delete(s.mu.conns, c)
	if s.mu.keys[c.pid] == c {
		delete(s.mu.keys, c.pid)
	}
	s.mu.Unlock()
	s.wg.Done()
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closed
}

// register assigns a process id and a cancel key to an authenticated connection.
func (s *Server) register(c *conn, keyLen int) {
	c.secret = make([]byte, keyLen)
	_, _ = rand.Read(c.secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var b [4]byte
		_, _ = rand.Read(b[:])
		// Clients store it as a signed int, and tools print it.
		pid := binary.BigEndian.Uint32(b[:]) & 0x7fffffff
		if _, taken := s.mu.keys[pid]; pid != 0 && !taken {
			c.pid = pid
			s.mu.keys[pid] = c
			return
		}
	}
}

// cancelRequest cancels the running statement of the connection with that key. A wrong key is silently ignored.
func (s *Server) cancelRequest(pid uint32, secret []byte) {
	s.mu.Lock()
	c := s.mu.keys[pid]
	s.mu.Unlock()
	if c != nil && subtle.ConstantTimeCompare(c.secret, secret) == 1 {
		c.cancelStatement(sqlstate.New(sqlstate.QueryCanceled, "canceling statement due to user request"))
	}
}

// Cancel cancels the running statement of a session, as pg_cancel_backend does. It reports whether there is such a
// session.
func (s *Server) Cancel(pid uint32) bool {
	s.mu.Lock()
	c := s.mu.keys[pid]
	s.mu.Unlock()
	if c != nil {
		c.cancelStatement(sqlstate.New(sqlstate.QueryCanceled, "canceling statement due to user request"))
	}
	return c != nil
}

// Terminate ends a session with 57P01, as pg_terminate_backend does. It reports whether there is such a session.
func (s *Server) Terminate(pid uint32) bool {
	s.mu.Lock()
	c := s.mu.keys[pid]
	s.mu.Unlock()
	if c != nil {
		c.terminate()
	}
	return c != nil
}

const (
	// finishWithin is how long Shutdown leaves statements and transactions alone if its context has no deadline, and
	// lastWords how long before the deadline it cancels them.
	finishWithin = 2 * time.Second
	lastWords    = 500 * time.Millisecond
)

// Shutdown stops accepting, and ends each connection (57P01) as soon as it waits for its client outside a transaction.
// Half a second before ctx ends, or after two seconds if it has no deadline, it cancels what still runs. When ctx ends,
// it closes the remaining connections and still waits for their goroutines.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.mu.closed = true
	for l := range s.mu.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.each((*conn).finish)
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	within := finishWithin
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end) - lastWords
	}
	late := time.NewTimer(within)
	defer late.Stop()
	var err error
	for waits := true; waits; {
		select {
		case <-done:
			waits = false
		case <-late.C:
			s.each((*conn).terminate)
		case <-ctx.Done():
			err = context.Cause(ctx)
			s.each((*conn).hangUp)
			s.stop(ErrServerClosed)
			<-done
			waits = false
		}
	}
	s.stop(ErrServerClosed)
	return err
}

// each calls f for every connection.
func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.mu.conns {
		f(c)
	}
}

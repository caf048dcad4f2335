package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// Server serves an engine. Close it before the engine.
type Server struct {
	e        kv.Engine
	o        Options
	listener net.Listener

	ctx    context.Context // context of the transactions; ends after the last session
	cancel context.CancelFunc

	running   sync.WaitGroup // the accepting goroutine and one goroutine per connection
	closeOnce sync.Once
	closeErr  error
	// handshakes has a token for each connection that has not authenticated yet.
	handshakes chan struct{}

	mu struct {
		sync.Mutex
		closed   bool
		open     map[*session]struct{}
		byClient map[clientName]*session
	}
}

// maxHandshakes bounds the connections in their handshake.
const maxHandshakes = 64

// Serve accepts connections to e on listener until Close. The server owns the listener.
func Serve(listener net.Listener, e kv.Engine, o Options) (*Server, error) {
	if o.Secret == "" || slices.Contains(o.AcceptSecrets, "") {
		return nil, errors.New("remote: serving a store requires a secret")
	}
	s := &Server{e: e, o: o.withDefaults(), listener: listener, handshakes: make(chan struct{}, maxHandshakes)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.open = make(map[*session]struct{})
	s.mu.byClient = make(map[clientName]*session)
	s.running.Go(s.accept)
	return s, nil
}

// Addr returns the server's address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends all connections, and tells the clients that it is no outage. Commits in progress finish first, but their
// clients may not get the result.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = s.listener.Close()
		s.mu.Lock()
		s.mu.closed = true
		for sess := range s.mu.open {
			s.running.Go(sess.leave)
		}
		s.mu.Unlock()
		s.running.Wait()
		s.cancel()
	})
	return s.closeErr
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.o.Logger.Error("the store accepts no more connections", "error", err)
			}
			return
		}
		select {
		case s.handshakes <- struct{}{}:
		default:
			_ = nc.Close()
			continue
		}
		if s.o.TLS != nil {
			nc = tls.Server(nc, s.o.TLS) // its handshake runs with the first byte of ours
		}
		sess := newSession(s, nc)
		if !s.add(sess) {
			_ = nc.Close()
			return
		}
		s.running.Go(func() { s.serve(sess) })
	}
}

func (s *Server) add(sess *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	s.mu.open[sess] = struct{}{}
	return true
}

// serve handles a connection from its first byte to the end of its last transaction.
func (s *Server) serve(sess *session) {
	defer close(sess.done)
	defer s.remove(sess)
	err := handshakeServer(sess.nc, append([]string{s.o.Secret}, s.o.AcceptSecrets...), func(name clientName) {
		s.admit(sess, name)
	})
	<-s.handshakes
	if err != nil {
		if errors.Is(err, errSecret) {
			s.o.Logger.Warn("a connection to the store was refused: wrong secret", "from",
				sess.nc.RemoteAddr().String())
		}
		_ = sess.nc.Close()
		return
	}
	s.o.Logger.Info("a node has connected to the store", "from", sess.nc.RemoteAddr().String())
	err = sess.run()
	s.o.Logger.Info("a node has disconnected from the store", "from", sess.nc.RemoteAddr().String(), "reason",
		fmt.Sprint(err))
}

// admit makes sess the client's session, and waits until nothing is left of the previous one.
func (s *Server) admit(sess *session, name clientName) {
	s.mu.Lock()
	before := s.mu.byClient[name]
	s.mu.byClient[name] = sess
	sess.name = name
	s.mu.Unlock()
	if before != nil {
		_ = before.nc.Close() // the client has given it up
		<-before.done
	}
}

func (s *Server) remove(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.open, sess)
	if s.mu.byClient[sess.name] == sess {
		delete(s.mu.byClient, sess.name)
	}
}

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

	ctx    context.Context // of the transactions; ends after the last session
	cancel context.CancelFunc

	running   sync.WaitGroup // the accepting goroutine and one for each connection
	closeOnce sync.Once
	closeErr  error
	// strangers has a token for each connection that has not proved itself yet.
	strangers chan struct{}

	mu struct {
		sync.Mutex
		closed   bool
		open     map[*session]struct{}
		byClient map[clientName]*session
	}
}

// maxStrangers are the connections that may be in their handshake at once.
const maxStrangers = 64

// Serve accepts connections to e on listener until Close. The server owns the listener.
func Serve(listener net.Listener, e kv.Engine, o Options) (*Server, error) {
	if o.Secret == "" || slices.Contains(o.AcceptSecrets, "") {
		return nil, errors.New("remote: a store is not served without a secret")
	}
	s := &Server{e: e, o: o.withDefaults(), listener: listener, strangers: make(chan struct{}, maxStrangers)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.open = make(map[*session]struct{})
	s.mu.byClient = make(map[clientName]*session)
	s.running.Go(s.accept)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends all connections. Commits under way are finished first; whether their clients hear of it is another matter.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = s.listener.Close()
		s.mu.Lock()
		s.mu.closed = true
		for sess := range s.mu.open {
			_ = sess.nc.Close() // it is being abandoned
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
		case s.strangers <- struct{}{}:
		default:
			_ = nc.Close()
			continue
		}
		if s.o.TLS != nil {
			nc = tls.Server(nc, s.o.TLS) // it shakes hands with the first byte of our own handshake
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

// serve is a connection from its first byte to the end of its last transaction.
func (s *Server) serve(sess *session) {
	defer close(sess.done)
	defer s.remove(sess)
	err := handshakeServer(sess.nc, append([]string{s.o.Secret}, s.o.AcceptSecrets...), func(name clientName) {
		s.admit(sess, name)
	})
	<-s.strangers
	if err != nil {
		if errors.Is(err, errSecret) {
			s.o.Logger.Warn("a connection to the store was refused: it does not know the secret", "from",
				sess.nc.RemoteAddr().String())
		}
		_ = sess.nc.Close()
		return
	}
	s.o.Logger.Info("a node is connected to the store", "from", sess.nc.RemoteAddr().String())
	err = sess.run()
	s.o.Logger.Info("a node is no longer connected to the store", "from", sess.nc.RemoteAddr().String(), "reason",
		fmt.Sprint(err))
}

// admit makes sess the client's connection, and waits until nothing is left of the one before.
func (s *Server) admit(sess *session, name clientName) {
	s.mu.Lock()
	before := s.mu.byClient[name]
	s.mu.byClient[name] = sess
	sess.name = name
	s.mu.Unlock()
	if before != nil {
		_ = before.nc.Close() // it is being abandoned
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

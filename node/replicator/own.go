package replicator

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
)

// ownRequests serves requests that the node sends to itself, over connections in memory. A replication that names a
// database of this server uses them: so filters, validation functions and rules are the same as for any other client.
// Who sends a request is known from its connection, and never from the request.
type ownRequests struct {
	accepted chan net.Conn
	closed   chan struct{}
	handler  atomic.Pointer[http.Handler] // nil until the node serves HTTP
	server   *http.Server
}

// ownConn is the server's end of a connection.
type ownConn struct {
	net.Conn
	user sender
}

// sender is who sends a request. moves is set if the documents that it writes are moved from another server, which has
// validated them.
type sender struct {
	layer.UserCtx
	moves bool
}

// ownUserKey is the key of the user in the context of a request that the node has sent to itself.
type ownUserKey struct{}

// As returns the context of a request that the node sends to itself as a user.
func As(ctx context.Context, u layer.UserCtx) context.Context {
	return context.WithValue(ctx, ownUserKey{}, sender{UserCtx: u})
}

// User returns the user of a request that the node has sent to itself.
func User(r *http.Request) (api.User, bool) {
	u, ok := r.Context().Value(ownUserKey{}).(sender)
	return api.User{Name: u.Name, Roles: u.Roles, Handler: "replicator", Own: ok, Moves: u.moves}, ok
}

func newOwnRequests(log *slog.Logger) *ownRequests {
	o := &ownRequests{accepted: make(chan net.Conn), closed: make(chan struct{})}
	o.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := o.handler.Load()
			if h == nil {
				http.Error(w, `{"error":"service_unavailable","reason":"the node is starting"}`,
					http.StatusServiceUnavailable)
				return
			}
			(*h).ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: time.Minute,
		MaxHeaderBytes:    maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, ownUserKey{}, c.(*ownConn).user)
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return o
}

// Accept implements net.Listener.
func (o *ownRequests) Accept() (net.Conn, error) {
	select {
	case c := <-o.accepted:
		return c, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. http.Server calls it once.
func (o *ownRequests) Close() error {
	select {
	case <-o.closed:
	default:
		close(o.closed)
	}
	return nil
}

type ownAddr struct{}

func (ownAddr) Network() string { return "memory" }
func (ownAddr) String() string  { return "local" }

// Addr implements net.Listener.
func (o *ownRequests) Addr() net.Addr { return ownAddr{} }

// start serves until stop is called.
func (o *ownRequests) start() (stop func(context.Context) error) {
	served := make(chan error, 1)
	go func() { served <- o.server.Serve(o) }()
	return func(context.Context) error {
		err := o.server.Close()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	}
}

// transport returns a transport of a user's requests to this node, whatever host they name. With moves, documents are
// written without being validated.
func (o *ownRequests) transport(user layer.UserCtx, moves bool) http.RoundTripper {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			select {
			case o.accepted <- &ownConn{server, sender{user, moves}}:
				return client, nil
			case <-o.closed:
				return nil, net.ErrClosed
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		DisableCompression: true, MaxIdleConnsPerHost: ownConnections, IdleConnTimeout: time.Minute,
		ReadBufferSize: ownBuffer, WriteBufferSize: ownBuffer,
	}
}

const (
	// maxHeader bounds a request's line and headers, in bytes.
	maxHeader      = 64 << 10
	ownConnections = 32
	ownBuffer      = 64 << 10
)

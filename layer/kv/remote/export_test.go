package remote

import (
	"context"
	"net"
	"time"
)

// WithPing sets the interval between pings.
func (o Options) WithPing(d time.Duration) Options { o.ping = d; return o }

// Shake does the client's handshake, for tests that then send arbitrary frames.
func Shake(nc net.Conn, secret string, name [nameSize]byte) error {
	return handshakeClient(nc, secret, name, handshakeTimeout)
}

// The frames that tests send.
const (
	KindGet          = byte(kindGet | beginFlag)
	KindGetFollowing = byte(kindGetFollowing | beginFlag)
	KindCommit       = byte(kindCommit | beginFlag)
)

// Frame encodes one frame.
func Frame(k byte, object uint64, request uint32, payload []byte) []byte {
	return endFrame(append(appendFrame(nil, kind(k), object, request), payload...), 0)
}

// Unconnected returns an engine that has not tried to connect.
func Unconnected(addr string, o Options) *Engine {
	return &Engine{addr: addr, o: o.withDefaults(), stop: make(chan struct{})}
}

// Dial makes one attempt to connect.
func (e *Engine) Dial(ctx context.Context) error {
	_, err := e.dial(ctx, e.o.Secret)
	return err
}

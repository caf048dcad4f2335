package remote

import (
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
	KindGet    = byte(kindGet | beginFlag)
	KindCommit = byte(kindCommit | beginFlag)
)

// Frame encodes one frame.
func Frame(k byte, object uint64, request uint32, payload []byte) []byte {
	return endFrame(append(appendFrame(nil, kind(k), object, request), payload...), 0)
}

package remote

import (
	"net"
	"time"
)

// WithPing is o with another interval between pings.
func (o Options) WithPing(d time.Duration) Options { o.ping = d; return o }

// Shake is the client's handshake, for tests that then say what they like.
func Shake(nc net.Conn, secret string, name [nameSize]byte) error {
	return handshakeClient(nc, secret, name, handshakeTimeout)
}

// The frames of tests.
const (
	KindGet    = byte(kindGet | beginFlag)
	KindCommit = byte(kindCommit | beginFlag)
)

// Frame is one frame.
func Frame(k byte, object uint64, request uint32, payload []byte) []byte {
	return endFrame(append(appendFrame(nil, kind(k), object, request), payload...), 0)
}

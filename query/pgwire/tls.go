package pgwire

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"

	"github.com/divandb/divan/query/sqlstate"
)

// alpn is the protocol that a client must name if it begins TLS without asking first (sslnegotiation=direct, since
// PostgreSQL 17), so that no other protocol over TLS can be mistaken for this one.
const alpn = "postgresql"

// helloRecord is the first byte of TLS, the type of the record of a ClientHello. The length of a start-up packet that
// begins with it would be far beyond the limit.
const helloRecord = 0x16

// errHello is the beginning of TLS in the place of a start-up packet.
type errHello struct{ read []byte }

func (*errHello) Error() string { return "TLS in the place of a start-up packet" }

// encrypt takes the server's part in the handshake of TLS over nc.
func (h *handshake) encrypt(nc net.Conn, cfg *tls.Config) (*tls.Conn, bool) {
	t := tls.Server(nc, h.bindable(cfg))
	if err := t.HandshakeContext(h.ctx); err != nil {
		h.log.Debug("sql tls handshake failed", "err", err)
		return nil, false
	}
	h.replace(t)
	return t, true
}

// encryptDirectly is encrypt for a client that has not asked first, and of whose hello a part has been read.
func (h *handshake) encryptDirectly(hello *errHello) bool {
	cfg := h.srv.opts.TLS.Clone()
	cfg.NextProtos = []string{alpn}
	t, ok := h.encrypt(&unread{h.nc, io.MultiReader(bytes.NewReader(hello.read), h.nc)}, cfg)
	if !ok {
		return false
	}
	if t.ConnectionState().NegotiatedProtocol != alpn {
		h.attach()
		h.fatal(sqlstate.New(sqlstate.ProtocolViolation,
			"received direct SSL connection request without ALPN protocol negotiation extension"))
		return false
	}
	return true
}

// unread is a connection of which the first bytes have been read already.
type unread struct {
	net.Conn
	r io.Reader
}

// Read implements net.Conn.
func (u *unread) Read(p []byte) (int, error) { return u.r.Read(p) }

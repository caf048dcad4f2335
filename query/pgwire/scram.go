package pgwire

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/divandb/divan/query/sqlstate"
)

// The mechanisms. A client that selects the second one binds its login to the TLS connection, so that no proxy can
// terminate TLS and forward the login.
const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
)

// mockIterations is the iteration count sent for an unknown user. The node's own verifiers use the same unless
// configured otherwise.
const mockIterations = 4096

// Credentials looks users up. It must be safe for concurrent use.
type Credentials interface {
	// Required reports whether clients currently have to log in; if not, everyone is accepted under the name they give.
	// It is called for each connection, because the first user may be created while the server runs.
	Required() bool
	// Verifier returns the verifier of a user, for a client that connects from remote; false if there is no such user.
	// A *sqlstate.Error refuses the client with that error.
	Verifier(ctx context.Context, user string, remote net.Addr) (Verifier, bool, error)
}

// Verifier is what a server stores instead of a password (RFC 5802, section 3).
type Verifier struct {
	Salt       []byte
	Iterations int
	StoredKey  []byte // SHA-256(HMAC(SaltedPassword, "Client Key"))
	ServerKey  []byte // HMAC(SaltedPassword, "Server Key")

	// Admin reports whether the user may use the connection slots reserved for admins.
	Admin bool
	// Succeeded and Failed, if not nil, are called when the exchange ends. Neither is called if it is broken off.
	Succeeded, Failed func()
}

// VerifierFromSaltedPassword returns a verifier for PBKDF2-HMAC-SHA-256(password, salt, iterations, 32 bytes), which an
// HTTP side may have stored already. The password must have been prepared by SASLprep, as clients do; SASLprep leaves
// plain ASCII unchanged.
func VerifierFromSaltedPassword(salted, salt []byte, iterations int) Verifier {
	client := mac(salted, "Client Key")
	stored := sha256.Sum256(client)
	return Verifier{Salt: salt, Iterations: iterations, StoredKey: stored[:], ServerKey: mac(salted, "Server Key")}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// authenticate runs the SASL exchange of PostgreSQL 15, section 55.3. admin reports whether the user is an admin. An
// error is sent to the client as FATAL.
func (h *handshake) authenticate(ctx context.Context, user string) (admin bool, err error) {
	verifier, known, err := h.srv.opts.Credentials.Verifier(ctx, user, h.nc.RemoteAddr())
	if refused := (*sqlstate.Error)(nil); errors.As(err, &refused) {
		return false, refused
	}
	if err != nil {
		return false, &sqlstate.Error{Code: sqlstate.CannotConnectNow, Message: "cannot look up the user now", Err: err}
	}
	if !known {
		// Continue with an invented verifier and a constant salt, so that neither messages nor timing reveal whether a
		// name exists.
		key := mac(h.srv.mock[:], user)
		invented := VerifierFromSaltedPassword(mac(key, "password"), mac(key, "salt")[:16], mockIterations)
		invented.Failed = verifier.Failed
		verifier = invented
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) {
		// libpq sends an empty user name here. The one of the start-up packet counts.
		return scram.StoredCredentials{
			KeyFactors: scram.KeyFactors{Salt: string(verifier.Salt), Iters: verifier.Iterations},
			StoredKey:  verifier.StoredKey, ServerKey: verifier.ServerKey,
		}, nil
	})
	if err != nil {
		return false, fmt.Errorf("scram server: %w", err)
	}
	conversation, first, err := h.saslFirst(server)
	if err != nil {
		return false, err
	}
	challenge, err := conversation.Step(string(first))
	if err != nil {
		if challenge == scram.ErrServerDoesSupportChannelBinding && strings.HasPrefix(string(first), "y") {
			return false, &sqlstate.Error{Code: sqlstate.InvalidAuthorization, Err: err,
				Message: "SCRAM channel binding negotiation error",
				Detail: "The client supports SCRAM channel binding but thinks the server does not.  " +
					"However, this server does support channel binding."}
		}
		return false, malformedSASL(err)
	}
	final, err := h.saslNext(challenge)
	if err != nil {
		return false, err
	}
	outcome, err := conversation.Step(string(final))
	if err != nil && outcome == scram.ErrChannelBindingsDontMatch {
		return false, &sqlstate.Error{Code: sqlstate.InvalidAuthorization, Err: err,
			Message: "SCRAM channel binding check failed"}
	}
	if err != nil || !conversation.Valid() || !known {
		if verifier.Failed != nil {
			verifier.Failed()
		}
		return false, &sqlstate.Error{Code: sqlstate.InvalidPassword,
			Message: fmt.Sprintf(`password authentication failed for user "%s"`, user), Err: err}
	}
	if verifier.Succeeded != nil {
		verifier.Succeeded()
	}
	h.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(outcome)})
	return verifier.Admin, nil
}

// saslFirst offers the mechanisms, receives the client's first message, and returns the conversation that it begins.
func (h *handshake) saslFirst(server *scram.Server) (*scram.ServerConversation, []byte, error) {
	binding := h.binding()
	mechanisms := []string{mechanism}
	if binding.IsSupported() {
		mechanisms = []string{mechanismPlus, mechanism}
	}
	h.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	body, err := h.password()
	if err != nil {
		return nil, nil, err
	}
	var first pgproto3.SASLInitialResponse
	if err := first.Decode(body); err != nil {
		return nil, nil, malformedSASL(err)
	}
	switch {
	case !slices.Contains(mechanisms, first.AuthMechanism):
		return nil, nil, sqlstate.New(sqlstate.ProtocolViolation,
			"client selected an invalid SASL authentication mechanism")
	case first.AuthMechanism == mechanismPlus:
		return server.NewConversationWithChannelBindingRequired(binding), first.Data, nil
	case bytes.HasPrefix(first.Data, []byte("p")):
		return nil, nil, malformedSASL(errors.New("channel binding without the mechanism for it"))
	}
	return server.NewConversationWithChannelBinding(binding), first.Data, nil
}

// binding returns what a client's SCRAM exchange is bound to: the hash of the server's certificate
// (tls-server-end-point, RFC 5929), the only type that PostgreSQL has. It is empty without TLS, and for certificates
// whose signature has no hash, such as Ed25519.
func (h *handshake) binding() scram.ChannelBinding {
	if h.certificate == nil {
		return scram.ChannelBinding{}
	}
	leaf := h.certificate.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(h.certificate.Certificate[0]); err != nil {
			return scram.ChannelBinding{}
		}
	}
	b, err := scram.NewTLSServerEndpointBinding(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	if err != nil {
		return scram.ChannelBinding{}
	}
	return b
}

// bindable returns a TLS configuration for this connection that records the certificate shown to the client. It
// disables session resumption, which would show none.
func (h *handshake) bindable(from *tls.Config) *tls.Config {
	t := from.Clone()
	t.SessionTicketsDisabled = true
	t.Certificates = nil // otherwise GetCertificate is not called for clients that send no server name
	t.GetCertificate = func(hello *tls.ClientHelloInfo) (cert *tls.Certificate, err error) {
		if from.GetCertificate != nil {
			if cert, err = from.GetCertificate(hello); err != nil {
				return nil, err
			}
		}
		for i := 0; cert == nil && i < len(from.Certificates); i++ {
			if i == len(from.Certificates)-1 || hello.SupportsCertificate(&from.Certificates[i]) == nil {
				cert = &from.Certificates[i]
			}
		}
		h.certificate = cert
		return cert, nil
	}
	return t
}

// saslNext sends the challenge and receives the client's final message.
func (h *handshake) saslNext(challenge string) ([]byte, error) {
	h.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)})
	return h.password()
}

// password flushes the request and receives the message that answers it.
func (h *handshake) password() ([]byte, error) {
	if err := h.out.Flush(); err != nil {
		return nil, err
	}
	typ, body, err := h.in.next(maxAuthMessage)
	if err != nil {
		return nil, err
	}
	if typ != 'p' {
		return nil, sqlstate.New(sqlstate.ProtocolViolation, "expected a SASL response, got message type %q", typ)
	}
	return body, nil
}

func malformedSASL(err error) error {
	return &sqlstate.Error{Code: sqlstate.ProtocolViolation, Message: "malformed SCRAM message", Err: err}
}

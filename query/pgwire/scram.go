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

// The mechanisms. A client that selects the second binds the log-in to the TLS connection: nobody in between can have
// ended TLS and pass the log-in on.
const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
)

// mockIterations is what an unknown user is told; it is also what the node's own verifiers use unless configured
// otherwise.
const mockIterations = 4096

// Credentials looks users up. It is called from many goroutines.
type Credentials interface {
	// Required reports whether clients have to log in at present; if not, everybody is let in under the name they give.
	// It is asked at each connection, since the first user may be made while the server runs.
	Required() bool
	// Verifier returns what a client at remote that says to be user is checked against, and false when there is no such
	// user. A *sqlstate.Error refuses the client with that error.
	Verifier(ctx context.Context, user string, remote net.Addr) (Verifier, bool, error)
}

// Verifier is what a server keeps instead of a password (RFC 5802, section 3).
type Verifier struct {
	Salt       []byte
	Iterations int
	StoredKey  []byte // SHA-256(HMAC(SaltedPassword, "Client Key"))
	ServerKey  []byte // HMAC(SaltedPassword, "Server Key")

	// Admin may use the connection slots that are kept for admins.
	Admin bool
	// Succeeded and Failed, where they are not nil, are told how the exchange ended. One that is broken off counts as
	// neither.
	Succeeded, Failed func()
}

// VerifierFromSaltedPassword makes a verifier of PBKDF2-HMAC-SHA-256(password, salt, iterations, 32 bytes), which an
// HTTP side may well keep already. The password must have gone through SASLprep, as clients do (plain ASCII is its own
// SASLprep).
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

// authenticate runs the SASL exchange of PostgreSQL 15, section 55.3. admin is whether the user is one. An error is
// what the client gets as FATAL.
func (h *handshake) authenticate(ctx context.Context, user string) (admin bool, err error) {
	verifier, known, err := h.srv.opts.Credentials.Verifier(ctx, user, h.nc.RemoteAddr())
	if refused := (*sqlstate.Error)(nil); errors.As(err, &refused) {
		return false, refused
	}
	if err != nil {
		return false, &sqlstate.Error{Code: sqlstate.CannotConnectNow, Message: "cannot look up the user now", Err: err}
	}
	if !known {
		// Go on with an invented verifier of a constant salt: whether a name exists is not told, neither by words nor
		// by time.
		key := mac(h.srv.mock[:], user)
		invented := VerifierFromSaltedPassword(mac(key, "password"), mac(key, "salt")[:16], mockIterations)
		invented.Failed = verifier.Failed
		verifier = invented
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) {
		// libpq sends an empty user name here: the one of the start-up packet counts.
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
			Message: fmt.Sprintf("password authentication failed for user %q", user), Err: err}
	}
	if verifier.Succeeded != nil {
		verifier.Succeeded()
	}
	h.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(outcome)})
	return verifier.Admin, nil
}

// saslFirst offers the mechanisms, receives the client's first message, and makes the conversation that it begins.
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

// binding is what a client's SCRAM binds to: the hash of the server's certificate (tls-server-end-point, RFC 5929), the
// one type that PostgreSQL has. It is empty without TLS, and for a certificate whose signature has no hash, as Ed25519.
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

// bindable is a configuration of TLS for this connection that notes which certificate the client gets to see. A resumed
// session would show none.
func (h *handshake) bindable(from *tls.Config) *tls.Config {
	t := from.Clone()
	t.SessionTicketsDisabled = true
	t.Certificates = nil // or GetCertificate would not be asked by clients without a server's name
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

// password flushes what was asked and receives the one message type that answers it.
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

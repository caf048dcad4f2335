package pgwire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/divandb/divan/query/sqlstate"
)

const mechanism = "SCRAM-SHA-256"

// mockIterations is what an unknown user is told; it is also what the node's own verifiers use unless configured otherwise.
const mockIterations = 4096

// Credentials looks users up. It is called from many goroutines.
type Credentials interface {
	// Required reports whether clients have to log in at present; if not, everybody is let in under the name they give. It is asked at each
	// connection, since the first user may be made while the server runs.
	Required() bool
	// Verifier returns what a client at remote that says to be user is checked against, and false when there is no such user. A
	// *sqlstate.Error refuses the client with that error.
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
	// Succeeded and Failed, where they are not nil, are told how the exchange ended. One that is broken off counts as neither.
	Succeeded, Failed func()
}

// VerifierFromSaltedPassword makes a verifier of PBKDF2-HMAC-SHA-256(password, salt, iterations, 32 bytes), which an HTTP side may
// well keep already. The password must have gone through SASLprep, as clients do (plain ASCII is its own SASLprep).
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

// authenticate runs the SASL exchange of PostgreSQL 15, section 55.3. admin is whether the user is one. An error is what the client
// gets as FATAL.
func (c *conn) authenticate(ctx context.Context, user string) (admin bool, err error) {
	verifier, known, err := c.srv.opts.Credentials.Verifier(ctx, user, c.nc.RemoteAddr())
	if refused := (*sqlstate.Error)(nil); errors.As(err, &refused) {
		return false, refused
	}
	if err != nil {
		return false, &sqlstate.Error{Code: sqlstate.CannotConnectNow, Message: "cannot look up the user now", Err: err}
	}
	if !known {
		// Go on with an invented verifier of a constant salt: whether a name exists is not told, neither by words nor by time.
		key := mac(c.srv.mock[:], user)
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
	conversation := server.NewConversation()

	first, err := c.saslFirst()
	if err != nil {
		return false, err
	}
	challenge, err := conversation.Step(string(first))
	if err != nil {
		return false, malformedSASL(err)
	}
	final, err := c.saslNext(challenge)
	if err != nil {
		return false, err
	}
	outcome, err := conversation.Step(string(final))
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
	c.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(outcome)})
	return verifier.Admin, nil
}

// saslFirst offers the mechanism and receives the client's first message.
func (c *conn) saslFirst() ([]byte, error) {
	c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{mechanism}})
	body, err := c.password()
	if err != nil {
		return nil, err
	}
	var first pgproto3.SASLInitialResponse
	if err := first.Decode(body); err != nil {
		return nil, malformedSASL(err)
	}
	if first.AuthMechanism != mechanism {
		return nil, sqlstate.New(sqlstate.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	return first.Data, nil
}

// saslNext sends the challenge and receives the client's final message.
func (c *conn) saslNext(challenge string) ([]byte, error) {
	c.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)})
	return c.password()
}

// password flushes what was asked and receives the one message type that answers it.
func (c *conn) password() ([]byte, error) {
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	typ, body, err := c.in.next(maxAuthMessage)
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

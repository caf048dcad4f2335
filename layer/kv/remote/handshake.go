package remote

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// The first bytes of a connection, in turn:
//
//	server: magic, its challenge
//	client: magic, its challenge, its name, proof over all of these
//	server: proof over all of these
//
// A proof is an HMAC-SHA256, under the sender's secret, of everything sent so far. The client proves first, so that
// nobody without the secret gets a proof from the server to test guesses against. A wrong proof is answered with
// zeros, so that the client can tell a wrong secret from a broken connection. The server sends its proof only when
// nothing of the client's earlier connections is left, so the proof also confirms that.

const (
	magic            = "divankv2"
	nonceSize        = 32
	nameSize         = 16
	handshakeTimeout = 10 * time.Second
)

// clientName identifies a client across its connections: a random number for every opened engine.
type clientName [nameSize]byte

var errSecret = errors.New("remote: the other side does not know the secret")

func proof(secret, who string, said []byte) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(who))
	m.Write(said)
	return m.Sum(nil)
}

// random returns n random bytes; crypto/rand does not fail.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// handshakeClient authenticates both sides. It blocks until the server has ended the client's earlier connections.
func handshakeClient(nc net.Conn, secret string, name clientName, timeout time.Duration) error {
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	said := make([]byte, len(magic)+nonceSize, 256)
	if _, err := io.ReadFull(nc, said); err != nil {
		return fmt.Errorf("remote: the store's greeting: %w", err)
	}
	if !bytes.HasPrefix(said, []byte(magic)) {
		return errors.New("remote: the other side is not a store of this version")
	}
	mine := append([]byte(magic), random(nonceSize)...)
	mine = append(mine, name[:]...)
	said = append(said, mine...)
	if _, err := nc.Write(append(mine, proof(secret, "client", said)...)); err != nil {
		return err
	}
	theirs := make([]byte, sha256.Size)
	if _, err := io.ReadFull(nc, theirs); err != nil {
		return err
	}
	if !hmac.Equal(theirs, proof(secret, "server", said)) {
		return errSecret
	}
	return nc.SetDeadline(time.Time{})
}

// handshakeServer checks the client's proof, calls admit, which ends the client's earlier connections, and sends the
// server's proof under the same secret.
func handshakeServer(nc net.Conn, secrets []string, admit func(clientName)) error {
	if err := nc.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	said := append([]byte(magic), random(nonceSize)...)
	if _, err := nc.Write(said); err != nil {
		return err
	}
	theirs := make([]byte, len(magic)+nonceSize+nameSize+sha256.Size)
	if _, err := io.ReadFull(nc, theirs); err != nil {
		return err
	}
	end := len(theirs) - sha256.Size
	said = append(said, theirs[:end]...)
	i := slices.IndexFunc(secrets, func(secret string) bool {
		return hmac.Equal(theirs[end:], proof(secret, "client", said))
	})
	if !bytes.HasPrefix(theirs, []byte(magic)) || i < 0 {
		_, err := nc.Write(make([]byte, sha256.Size))
		return errors.Join(errSecret, err)
	}
	if err := nc.SetDeadline(time.Time{}); err != nil {
		return err
	}
	admit(clientName(theirs[end-nameSize : end]))
	_, err := nc.Write(proof(secrets[i], "server", said))
	return err
}

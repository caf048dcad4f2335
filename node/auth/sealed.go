package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
)

// A user document has two hashes of its password where Iterations is more than SQLIterations: the derived key of
// CouchDB, and a SCRAM verifier of SQLIterations for the SQL port, whose clients refuse a slow one. Whoever guesses
// passwords takes the faster one, so it is sealed with the key of the cluster: a document that is read, replicated or
// exported gives its thief no more than the derived key. He who has the secret too guesses at SQLIterations.

// errSealed says that a verifier was sealed with another secret, or for another password. The text does not say more.
var errSealed = errors.New("the sql_verifier is of another secret or of another password")

// verifiers seals and opens the SCRAM verifiers in user documents.
type verifiers struct {
	sealer cipher.AEAD
	log    *slog.Logger
}

// sealKey is the cipher of verifiers. The secret also signs cookies, from which the label keeps it apart.
func sealKey(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "divan sql_verifier", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of verifiers: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("cipher of verifiers: %w", err)
	}
	return cipher.NewGCM(block)
}

// sealedFor is what a verifier belongs to. CouchDB, which does not know the member, leaves it where it changes a
// password: with another derived key it counts no more.
func sealedFor(name, derivedKey string) []byte {
	sum := digest(nil, name, derivedKey)
	return sum[:]
}

func (v *verifiers) seal(h Hash, name, derivedKey string) string {
	nonce := make([]byte, v.sealer.NonceSize())
	rand.Read(nonce)
	sealed := v.sealer.Seal(nonce, nonce, []byte(h.String()), sealedFor(name, derivedKey))
	return base64.StdEncoding.EncodeToString(sealed)
}

// hash is what a log-in over SQL is checked against.
func (v *verifiers) hash(acc account) Hash {
	if acc.sealed == "" {
		return acc.hash
	}
	h, err := v.unseal(acc.sealed, acc.name, acc.derivedKey)
	if err != nil {
		// The derived key serves the SQL port too, but for clients that refuse so many iterations.
		v.log.Warn("user document has a verifier for sql that cannot be used; set the password again",
			"user", acc.name, "err", err)
		return acc.hash
	}
	return h
}

func (v *verifiers) unseal(text, name, derivedKey string) (Hash, error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	n := v.sealer.NonceSize()
	if err != nil || len(sealed) < n {
		return Hash{}, errSealed
	}
	plain, err := v.sealer.Open(nil, sealed[:n], sealed[n:], sealedFor(name, derivedKey))
	if err != nil {
		return Hash{}, errSealed
	}
	return ParseHash(string(plain))
}

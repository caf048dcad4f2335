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

// If Iterations is larger than SQLIterations, a user document has two hashes of its password: CouchDB's derived key,
// and a SCRAM verifier with SQLIterations for the SQL port, whose clients refuse slow hashes. Anyone guessing passwords
// would attack the faster one, so it is sealed with a key of the cluster: to whoever reads, replicates or exports the
// document, it is useless without the secret. Only someone who has the secret too can guess at SQLIterations.

// errSealed is returned for a verifier that was sealed with another secret or for another password. The text cannot
// tell the two apart.
var errSealed = errors.New("the sql_verifier was made with another secret or for another password")

// verifiers seals and opens the SCRAM verifiers in user documents.
type verifiers struct {
	sealer cipher.AEAD
	log    *slog.Logger
}

// sealKey returns the cipher for verifiers. The label separates its key from other uses of the secret, which also signs
// cookies.
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

// sealedFor returns the data that a verifier is bound to. CouchDB does not know this member and leaves it in place when
// it changes a password, but with the new derived key the verifier is no longer valid.
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

// hash returns the hash against which a login over SQL is checked.
func (v *verifiers) hash(acc account) Hash {
	if acc.sealed == "" {
		return acc.hash
	}
	h, err := v.unseal(acc.sealed, acc.name, acc.derivedKey)
	if err != nil {
		// The derived key serves the SQL port too, except for clients that refuse so many iterations.
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

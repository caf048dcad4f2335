package cluster

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// gossipKeys returns the AES-256 keys of gossip: first the one that this member encrypts with, then others that it can
// decrypt with.
func gossipKeys(secret string, accepted []string) (*memberlist.Keyring, error) {
	var keys [][]byte
	for _, s := range append([]string{secret}, accepted...) {
		key, err := gossipKey(s)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return memberlist.NewKeyring(keys, keys[0])
}

// gossipKey derives a gossip key from a secret.
func gossipKey(secret string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), nil, "divan gossip 1", 32)
}

// remotingKey derives the key pair of remoting from a secret.
func remotingKey(secret string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "divan remoting 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the remoting key: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// remotingTLS returns a configuration for TLS 1.3 in which both sides prove that they know the secret. The key pair is
// derived from the secret, so it is the same on all members. Each side accepts only that public key and those of the
// other accepted secrets. There are no certificates to distribute, and no names or dates to check: the certificate
// exists only because TLS requires one.
func remotingTLS(secret string, accepted ...string) (*tls.Config, error) {
	key, err := remotingKey(secret)
	if err != nil {
		return nil, err
	}
	known := []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}
	for _, s := range accepted {
		other, err := remotingKey(s)
		if err != nil {
			return nil, err
		}
		known = append(known, other.Public().(ed25519.PublicKey))
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		DNSNames:     []string{"divan"},
	}
	der, err := x509.CreateCertificate(nil, template, template, known[0], key)
	if err != nil {
		return nil, fmt.Errorf("make the remoting certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   "divan",
		ClientAuth:   tls.RequireAnyClientCert,
		// The peer's key is checked below, which is stricter than a certificate chain.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 {
				k, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
				if ok && slices.ContainsFunc(known, func(x ed25519.PublicKey) bool { return bytes.Equal(k, x) }) {
					return nil
				}
			}
			return errors.New("the other side has another cluster secret")
		},
	}, nil
}

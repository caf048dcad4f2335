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
	"time"
)

// gossipKey is the AES-256 key of gossip.
func gossipKey(secret string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), nil, "divan gossip 1", 32)
}

// remotingTLS is TLS 1.3 in which both sides prove that they know the secret: the key pair is derived from it, so it is the same on all
// members, and each side accepts that public key and no other. There are no certificates to hand out, and no names or dates
// to check: the certificate is only the envelope that TLS wants.
func remotingTLS(secret string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, []byte(secret), nil, "divan remoting 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the remoting key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		DNSNames:     []string{"divan"},
	}
	public := key.Public().(ed25519.PublicKey)
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, fmt.Errorf("make the remoting certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   "divan",
		ClientAuth:   tls.RequireAnyClientCert,
		// The peer's key is checked below, which is stricter than a chain of certificates.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 {
				if k, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok && bytes.Equal(k, public) {
					return nil
				}
			}
			return errors.New("the other side has another cluster secret")
		},
	}, nil
}

package node

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"

	"github.com/divandb/divan/node/config"
)

// storeServerTLS is that of storage.listen; nil where it has none. With a ca, nodes need a certificate of it.
func storeServerTLS(s config.Storage) (*tls.Config, error) {
	t, err := tlsConfig("storage.tls", config.TLS{Cert: s.TLS.Cert, Key: s.TLS.Key})
	if t == nil || err != nil || s.TLS.CA == "" {
		return t, err
	}
	t.ClientAuth = tls.RequireAndVerifyClientCert
	t.ClientCAs, err = certificates(s.TLS.CA)
	return t, err
}

// storeClientTLS is that of storage.address; nil where no ca says whom to trust.
func storeClientTLS(s config.Storage) (*tls.Config, error) {
	if s.TLS.CA == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, fmt.Errorf("storage.address: %w", err)
	}
	t, err := tlsConfig("storage.tls", config.TLS{Cert: s.TLS.Cert, Key: s.TLS.Key})
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.ServerName = host
	t.RootCAs, err = certificates(s.TLS.CA)
	return t, err
}

// certificates reads a PEM file.
func certificates(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("storage.tls.ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("storage.tls.ca: there is no certificate in %s", file)
	}
	return pool, nil
}

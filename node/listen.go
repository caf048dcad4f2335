package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/divandb/divan/node/config"
)

// listen opens a TCP port. what names the port in error messages.
func listen(ctx context.Context, what, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use by another process", what, addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: no permission to listen on %s", what, addr)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return l, nil
}

// tlsConfig loads the certificate and key, and returns nil if none are configured.
func tlsConfig(what string, t config.TLS) (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// storeServerTLS returns the TLS configuration of storage.listen, or nil if it has none. If a ca is configured, nodes
// need a certificate signed by it.
func storeServerTLS(s config.Storage) (*tls.Config, error) {
	t, err := tlsConfig("storage.tls", config.TLS{Cert: s.TLS.Cert, Key: s.TLS.Key})
	if t == nil || err != nil || s.TLS.CA == "" {
		return t, err
	}
	t.ClientAuth = tls.RequireAndVerifyClientCert
	t.ClientCAs, err = certificates(s.TLS.CA)
	return t, err
}

// storeClientTLS returns the TLS configuration for storage.address, or nil if no ca is configured.
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
		return nil, fmt.Errorf("storage.tls.ca: no certificate in %s", file)
	}
	return pool, nil
}

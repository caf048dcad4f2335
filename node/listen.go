package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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

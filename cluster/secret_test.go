package cluster

import (
	"crypto/tls"
	"net"
	"testing"
)

func TestRemotingTLS(t *testing.T) {
	shake := func(serverSecret, clientSecret string) (server, client error) {
		sc, err := remotingTLS(serverSecret)
		if err != nil {
			t.Fatal(err)
		}
		cc, err := remotingTLS(clientSecret)
		if err != nil {
			t.Fatal(err)
		}
		s, c := net.Pipe()
		defer s.Close()
		done := make(chan error, 1)
		go func() {
			err := tls.Server(s, sc).Handshake()
			s.Close()
			done <- err
		}()
		client = tls.Client(c, cc).Handshake()
		c.Close()
		return <-done, client
	}
	if s, c := shake("sesame", "sesame"); s != nil || c != nil {
		t.Errorf("same secret: server %v, client %v", s, c)
	}
	if s, c := shake("sesame", "guess"); s == nil || c == nil {
		t.Errorf("different secrets: server %v, client %v", s, c)
	}
	// A client that checks nothing but has another key, as an attacker would.
	sc, _ := remotingTLS("sesame")
	cc, _ := remotingTLS("guess")
	cc.VerifyConnection = nil
	s, c := net.Pipe()
	defer c.Close()
	go func() {
		conn := tls.Client(c, cc)
		conn.Handshake()
		conn.Read(make([]byte, 1)) // the server's alert
	}()
	if err := tls.Server(s, sc).Handshake(); err == nil {
		t.Error("the server accepted a client without the secret")
	}
}

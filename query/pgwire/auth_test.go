package pgwire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
)

// users holds verifiers by name. Looking up "trouble" fails.
type users map[string]pgwire.Verifier

func (users) Required() bool { return true }

func (u users) Verifier(_ context.Context, user string, _ net.Addr) (pgwire.Verifier, bool, error) {
	if user == "trouble" {
		return pgwire.Verifier{}, false, errors.New("the store is gone")
	}
	v, ok := u[user]
	return v, ok, nil
}

func verifier(t testing.TB, password string) pgwire.Verifier {
	t.Helper()
	salt := []byte("sixteen bytes of")
	salted, err := pbkdf2.Key(sha256.New, password, salt, 4096, 32)
	if err != nil {
		t.Fatal(err)
	}
	return pgwire.VerifierFromSaltedPassword(salted, salt, 4096)
}

func TestServer_SCRAM(t *testing.T) {
	f := &fake{}
	_, addr := serve(t, f, func(o *pgwire.Options) {
		o.Credentials = users{"ann": verifier(t, "pencil"), "blåbær": verifier(t, "sylte tøy")}
	})
	for _, c := range []struct{ user, password, code string }{
		{"ann", "pencil", ""},
		{"bl%C3%A5b%C3%A6r", "sylte%20t%C3%B8y", ""},
		{"ann", "pen", "28P01"},
		{"ann", "", "28P01"},
		{"bob", "pencil", "28P01"},
		{"trouble", "x", "57P03"},
	} {
		conn, err := pgconn.Connect(t.Context(), "postgres://"+c.user+":"+c.password+"@"+addr+"/db?sslmode=disable")
		var pe *pgconn.PgError
		switch {
		case err == nil:
			_ = conn.Close(t.Context())
			if c.code != "" {
				t.Errorf("%s logged in with %q", c.user, c.password)
			}
		case errors.As(err, &pe):
			if pe.Code != c.code || pe.Severity != "FATAL" {
				t.Errorf("%s with %q: %v", c.user, c.password, pe)
			}
		case c.password != "":
			t.Errorf("%s with %q: %v", c.user, c.password, err)
		}
	}
}

// TestServer_SCRAMUnknownUser checks that an unknown user gets the same salt every time, like a known one.
func TestServer_SCRAMUnknownUser(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) { o.Credentials = users{} })
	first := func() string {
		c := dial(t, addr)
		c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
			Parameters: map[string]string{"user": "nobody"}})
		if _, ok := c.receive().(*pgproto3.AuthenticationSASL); !ok {
			t.Fatal("no SASL")
		}
		c.send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256",
			Data: []byte("n,,n=,r=fyko+d2lbbFgONRv9qkxdawL")})
		m, ok := c.receive().(*pgproto3.AuthenticationSASLContinue)
		if !ok {
			t.Fatal("no challenge")
		}
		return string(m.Data)[len("r=fyko+d2lbbFgONRv9qkxdawL"):]
	}
	cut := func(s string) string { return s[len(s)-len(",s=AAAAAAAAAAAAAAAAAAAAAA==,i=4096"):] }
	if a, b := cut(first()), cut(first()); a != b {
		t.Errorf("salts differ: %s and %s", a, b)
	}
}

func TestServer_SCRAMGarbage(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) { o.Credentials = users{"ann": verifier(t, "pencil")} })
	for name, send := range map[string]pgproto3.FrontendMessage{
		"a query":           &pgproto3.Query{String: "rows 1"},
		"another mechanism": &pgproto3.SASLInitialResponse{AuthMechanism: "PLAIN", Data: []byte("x")},
		"no SCRAM":          &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("hello")},
		"empty":             &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256"},
		"channel binding": &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256",
			Data: []byte("p=tls-unique,,n=,r=abc")},
		"long": &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: make([]byte, 20000)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, addr)
			c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
				Parameters: map[string]string{"user": "ann"}})
			c.receive()
			c.send(send)
			if got := c.until('E'); got != "E:08P01" {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestServer_TLS(t *testing.T) {
	cert, pool := certificate(t)
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		o.RequireTLS = true
		o.Credentials = users{"ann": verifier(t, "pencil")}
	})
	cfg, err := pgconn.ParseConfig("postgres://ann:pencil@" + addr + "/db?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	cfg.TLSConfig = &tls.Config{RootCAs: pool, ServerName: "localhost"}
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// Longer than watchDelay: the watcher's time-out must not disturb the TLS connection.
	for range 3 {
		if _, err := conn.Exec(t.Context(), "drip 10").ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = pgconn.Connect(t.Context(), "postgres://ann:pencil@"+addr+"/db?sslmode=disable")
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != "28000" {
		t.Errorf("without TLS: %v", err)
	}
	// Bytes sent in the clear after the SSLRequest must not become part of the session.
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
	ssl, _ := (&pgproto3.SSLRequest{}).Encode(nil)
	start, _ := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}}).Encode(nil)
	if _, err := nc.Write(append(ssl, start...)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 2)
	if n, _ := nc.Read(b); string(b[:n]) != "S" {
		t.Fatalf("answered %q", b[:n])
	}
	if err := tls.Client(nc, cfg.TLSConfig).Handshake(); err == nil {
		t.Error("handshake over injected bytes")
	}
}

// certificate returns a certificate and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"},
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// certificate creates a self-signed certificate for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		// Java accepts no certificate without a name.
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "divan test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, // postgres.js checks this
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for file, text := range map[string][]byte{certFile: certPEM,
		keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

func TestProgram_TLS(t *testing.T) {
	cert, key, pool := certificate(t)
	files := fmt.Sprintf("{cert: %q, key: %q}", cert, key)
	file := writeYAML(t, "http: {tls: "+files+"}\nsql: {tls: "+files+"}\n")
	p := start(t, t.TempDir(), "-config", file, "-admin", "root:sesame")
	c := newClient(t, "https://"+p.ready["http"], "root:sesame")
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	c.ok("PUT", "/db", "")
	if r := c.do("POST", "/_session",
		`{"name":"root","password":"sesame"}`); !strings.Contains(r.header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("a cookie that may be sent unencrypted: %s", r.header.Get("Set-Cookie"))
	}
	if r, err := newClient(t, "http://"+p.ready["http"], "").try("GET", "/db", ""); err == nil && r.status != 400 {
		t.Errorf("unencrypted: %d", r.status)
	}
	for _, mode := range []string{"require", "disable"} { // as in Postgres: TLS if the client asks for it
		config, err := pgx.ParseConfig(fmt.Sprintf("postgres://root:sesame@%s/db?sslmode=%s", p.ready["sql"], mode))
		if err != nil {
			t.Fatal(err)
		}
		if mode == "require" {
			config.TLSConfig = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		var secure bool
		if err := conn.QueryRow(t.Context(), `SELECT tls FROM divan.sessions`).Scan(&secure); err != nil ||
			secure != (mode == "require") {
			t.Errorf("%s: %v, %v", mode, secure, err)
		}
		conn.Close(t.Context())
	}
	p.stop(syscall.SIGTERM)
}

// Pages of other origins, such as PouchDB in a browser, are allowed if node.yaml says so.
func TestHTTP_CORS(t *testing.T) {
	const there = "https://app.example"
	open := start(t, t.TempDir(), "-config",
		writeYAML(t, "http: {cors: {enabled: true, origins: ['"+there+"'], credentials: true}}\n"))
	shut := start(t, t.TempDir())
	for _, c := range []struct {
		p       *process
		origin  string
		allowed string
	}{{open, there, there}, {open, "https://other.example", ""}, {shut, there, ""}} {
		preflight := c.p.client().do("OPTIONS", "/db", "", "Origin", c.origin, "Access-Control-Request-Method", "PUT",
			"Access-Control-Request-Headers", "content-type")
		simple := c.p.client().do("GET", "/", "", "Origin", c.origin)
		for _, r := range []reply{preflight, simple} {
			if got := r.header.Get("Access-Control-Allow-Origin"); got != c.allowed {
				t.Errorf("%s: %q is allowed, want %q", c.origin, got, c.allowed)
			}
			if got := r.header.Get("Access-Control-Allow-Credentials"); (got == "true") != (c.allowed != "") {
				t.Errorf("%s: credentials %q", c.origin, got)
			}
		}
	}
}

// With "*" and credentials, each page may use the node as its user, and the start says so.
func TestHTTP_CORSForEveryPage(t *testing.T) {
	p := start(t, t.TempDir(), "-config",
		writeYAML(t, "http: {cors: {enabled: true, origins: ['*'], credentials: true}}\n"))
	everyPageMay(t, p.client())
	if n := strings.Count(p.stderr.whole(), everyPage); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// The log of a program without a terminal is machine-readable.
func TestProgram_LogIsJSON(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	p.as("root:wrong").do("GET", "/", "")
	p.stop(syscall.SIGTERM)
	text := strings.TrimSpace(p.stderr.whole())
	if !strings.Contains(text, "authentication failed") {
		t.Errorf("the log does not report a wrong password:\n%s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time == "" || record.Level == "" ||
			record.Msg == "" {
			t.Errorf("log line %q: %v", line, err)
		}
	}
}

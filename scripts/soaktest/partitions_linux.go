package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hosts are network namespaces on a bridge, which is in a namespace of its own, so that nothing is visible outside.
type hosts struct {
	name string // prefix of the namespaces' names
	n    int
}

// host returns the address of a host. 254 is the bridge, from which clients connect.
func host(i int) string { return fmt.Sprintf("10.231.0.%d", i) }

func needsNamespaces(ctx context.Context, _ *environment) string {
	if _, err := exec.LookPath("ip"); err != nil {
		return "it needs the ip command (Debian: apt-get install iproute2)"
	}
	h := &hosts{name: fmt.Sprintf("soak%dtry", os.Getpid()), n: 1}
	err := h.make(ctx)
	if err = errors.Join(err, h.remove(ctx)); err != nil {
		return fmt.Sprintf("network namespaces cannot be created: %v", err)
	}
	return ""
}

func (h *hosts) ns(i int) string { return fmt.Sprintf("%s-%d", h.name, i) }

func (h *hosts) bridge() string { return h.name + "-b" }

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (h *hosts) make(ctx context.Context) error {
	b := h.bridge()
	steps := [][]string{
		{"netns", "add", b},
		{"-n", b, "link", "add", "hub0", "type", "bridge"},
		{"-n", b, "addr", "add", host(254) + "/24", "dev", "hub0"},
		{"-n", b, "link", "set", "hub0", "up"},
	}
	for i := 1; i <= h.n; i++ {
		ns, port := h.ns(i), fmt.Sprintf("p%d", i)
		steps = append(steps,
			[]string{"netns", "add", ns},
			[]string{"-n", b, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"-n", b, "link", "set", port, "master", "hub0"},
			[]string{"-n", b, "link", "set", port, "up"},
			[]string{"-n", ns, "addr", "add", host(i) + "/24", "dev", "eth0"},
			[]string{"-n", ns, "link", "set", "eth0", "up"},
			[]string{"-n", ns, "link", "set", "lo", "up"})
	}
	for _, s := range steps {
		if err := ip(ctx, s...); err != nil {
			return err
		}
	}
	return nil
}

// remove removes everything, even after a failed make.
func (h *hosts) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for i := 1; i <= h.n; i++ {
		err = errors.Join(err, ip(ctx, "netns", "del", h.ns(i)))
	}
	return errors.Join(err, ip(ctx, "netns", "del", h.bridge()))
}

// link connects a host or cuts it off: packets are dropped without an error.
func (h *hosts) link(ctx context.Context, i int, state string) error {
	return ip(ctx, "-n", h.bridge(), "link", "set", fmt.Sprintf("p%d", i), state)
}

// dial connects from the bridge's namespace. A socket stays in the namespace in which it was created, so the thread
// that creates it enters the namespace and returns.
func (h *hosts) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer func() { _ = home.Close() }() // it was only read
	there, err := os.Open(filepath.Join("/run/netns", h.bridge()))
	if err == nil {
		err = unix.Setns(int(there.Fd()), unix.CLONE_NEWNET)
		err = errors.Join(err, there.Close())
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return nil, back // the thread stays locked, and ends with this goroutine
	}
	runtime.UnlockOSThread()
	return conn, err
}

// runPartitions cuts off one of three nodes, sometimes the one with the store.
func runPartitions(ctx context.Context, e *environment, t *tally) (err error) {
	dir, err := e.newDir("partitions")
	if err != nil {
		return err
	}
	h := &hosts{name: fmt.Sprintf("soak%d", os.Getpid()), n: 3}
	defer func() { err = errors.Join(err, h.remove(ctx)) }()
	if err := h.make(ctx); err != nil {
		return err
	}
	c, err := h.three(dir)
	if err != nil {
		return err
	}
	return c.round(ctx, e, t, func(ctx context.Context) error {
		for range 2 {
			wait(ctx, time.Duration(e.rng.IntN(500)+500)*time.Millisecond)
			i := 1 + e.rng.IntN(3)
			if err := h.link(ctx, i, "down"); err != nil {
				return err
			}
			t.events++
			wait(ctx, time.Duration(e.rng.IntN(6000)+500)*time.Millisecond)
			if err := h.link(ctx, i, "up"); err != nil {
				return err
			}
		}
		return nil
	})
}

// three prepares three nodes, each on a host of its own. Since they do not listen on loopback, they need an admin,
// secrets, and TLS for the store.
func (h *hosts) three(dir string) (*three, error) {
	cert, key, err := certificate(dir)
	if err != nil {
		return nil, err
	}
	c := &three{}
	for i := range c.specs {
		s := &spec{
			name: fmt.Sprintf("soak%d", i+1), dir: filepath.Join(dir, fmt.Sprint(i+1)), host: host(i + 1),
			ports:  [4]int{5984, 5433, 7946, 7947},
			prefix: []string{"ip", "netns", "exec", h.ns(i + 1)}, admin: "soak:soak",
			env:       []string{"DIVAN_AUTH_ITERATIONS=4096"},
			transport: &http.Transport{DialContext: h.dial, MaxIdleConnsPerHost: 64},
		}
		storage := fmt.Sprintf("storage: {engine: remote, address: \"%s:7945\", secret: %q, tls: {ca: %q}}\n",
			host(1), secret, cert)
		join := fmt.Sprintf("\"%s:7946\"", host(1))
		if i == 0 {
			storage = fmt.Sprintf("storage: {engine: embedded, listen: \"%s:7945\", secret: %q, tls: {cert: %q, "+
				"key: %q}}\n",
				host(1), secret, cert, key)
			join = ""
		}
		s.settings = storage +
			fmt.Sprintf("cluster: {gossip: %q, remoting: %q, join: [%s], secret: %q}\n", s.addr(2), s.addr(3), join,
				secret)
		c.specs[i] = s
	}
	return c, nil
}

// certificate writes a self-signed certificate for all hosts, and its key.
func certificate(dir string) (certFile, keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "soak"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for i := 1; i <= 3; i++ {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(host(i)))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return certFile, keyFile, errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}

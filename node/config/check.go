package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/node/auth"
)

// Limits of settings. The upper ones catch slips such as MiB for KiB.
const (
	maxDocument   = 9 << 20 // a document and its changes entry must fit in one transaction of 10 MB
	maxShards     = 1024
	maxBatch      = 10_000
	minIterations = 4096 // RFC 7677, section 4
	maxIterations = 10_000_000
	maxName       = 64 // gossip allows 512 bytes for all of a node's metadata
	maxTag        = 16 // FoundationDB's limit, in bytes
)

// CheckIterations returns an error unless n is a valid number of PBKDF2 iterations.
func CheckIterations(n int) error {
	if n < minIterations || n > maxIterations {
		return fmt.Errorf("%d is not between %d and %d", n, minIterations, maxIterations)
	}
	return nil
}

// check validates the settings: each by its row, then some of them together. If a value could not be read, it checks
// the default instead, so that one fault does not hide another.
func (s *settings) check() {
	c := s.cfg
	s.checkRows()
	s.checkName()
	s.checkListeners()
	s.checkStorage()
	s.checkAdmins()
	s.checkAuth()
	s.checkTLS("http.tls", c.HTTP.TLS)
	s.checkTLS("sql.tls", c.SQL.TLS)
	s.checkCORS()
	if c.Data == "" && c.Storage.Engine == EngineEmbedded {
		s.at("data", "needs a directory")
	}
	s.checkCompaction()
	s.checkReplicator()
	s.checkHTTP()
	checkTracing(s)
	if _, err := auth.ParseProxies(c.HTTP.Proxies); err != nil {
		s.at("http.proxies", "%v", err)
	}
}

// at records a fault of the setting at path, with its line.
func (s *settings) at(path, format string, args ...any) {
	s.fault(s.origins[path], path, format, args...)
}

func (s *settings) checkName() {
	name := s.cfg.Name
	if len(name) > maxName {
		s.at("name", "is longer than %d bytes", maxName)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' }) {
		s.at("name", "%q contains a space, a slash or a control character", name)
	}
}

type listener struct{ path, addr string }

// listeners returns the addresses that this node opens, with their settings. If remoting has no address, it uses
// gossip's host and any port.
func (c *Config) listeners() []listener {
	all := []listener{
		{"http.listen", c.HTTP.Listen},
		{"sql.listen", c.SQL.Listen},
		{"cluster.gossip", c.Cluster.Gossip},
	}
	for _, optional := range []listener{{"cluster.remoting", c.Cluster.Remoting},
		{"storage.listen", c.Storage.Listen}} {
		if optional.addr != "" {
			all = append(all, optional)
		}
	}
	return all
}

func (s *settings) checkListeners() {
	users := map[string]string{}
	for _, l := range s.cfg.listeners() {
		if !s.checkAddr(l.path, l.addr) {
			continue
		}
		if _, port, _ := net.SplitHostPort(l.addr); port == "0" {
			continue
		}
		if other, ok := users[l.addr]; ok {
			s.at(l.path, "%s is already used by %s", l.addr, other)
		}
		users[l.addr] = l.path
	}
	for _, l := range []listener{{"cluster.gossip", s.cfg.Cluster.Gossip},
		{"cluster.remoting", s.cfg.Cluster.Remoting}} {
		if s.cfg.Cluster.Secret == "" && l.addr != "" && exposed(l.addr) {
			s.at(l.path, "%s can be reached from other machines: set cluster.secret, or anyone who can reach it "+
				"can control the node", l.addr)
		}
	}
	if ip := s.cfg.Cluster.Advertise; ip != "" && net.ParseIP(ip) == nil {
		s.at("cluster.advertise", "%q is not an IP address", ip)
	}
	s.checkSecrets("cluster.accept_secrets", s.cfg.Cluster.AcceptSecrets, "cluster.secret", s.cfg.Cluster.Secret)
	s.checkSecrets("storage.accept_secrets", s.cfg.Storage.AcceptSecrets, "storage.secret", s.cfg.Storage.Secret)
	for _, addr := range s.cfg.Cluster.Join {
		s.checkAddr("cluster.join", addr)
	}
}

func (s *settings) checkAddr(path, addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		s.at(path, "%q is not an address; write HOST:PORT", addr)
		return false
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		s.at(path, "%q is not a port", port)
		return false
	}
	return true
}

func (s *settings) checkStorage() {
	st := s.cfg.Storage
	if st.Backups != "" && st.Engine == EngineFDB {
		s.at("storage.backups", "cannot be used with the engine fdb, which is backed up by fdbbackup")
	}
	if slices.Contains(strings.Split(st.Directory, "/"), "") {
		s.at("storage.directory", "%q is not a directory; write a/b", st.Directory)
	}
	s.checkTLS("storage.tls", TLS{Cert: st.TLS.Cert, Key: st.TLS.Key})
	s.checkStoreTLS()
	if st.TLS.Password != "" && st.TLS.Key == "" {
		s.at("storage.tls.password", "needs storage.tls.key")
	}
	if len(st.Tag) > maxTag {
		s.at("storage.tag", "is longer than %d bytes", maxTag)
	}
	if st.Engine == EngineRemote {
		if st.Address == "" {
			s.at("storage.engine", "remote needs storage.address, the address at which the node with the store listens")
		} else {
			s.checkAddr("storage.address", st.Address)
		}
	}
	if st.Secret == "" && (st.Engine == EngineRemote || st.Listen != "") {
		s.at("storage.engine", "a shared store needs storage.secret, the same on every node")
	}
}

// checkStoreTLS enforces that documents leave the machine only encrypted.
func (s *settings) checkStoreTLS() {
	st := s.cfg.Storage
	if st.Engine == EngineEmbedded && st.Listen == "" {
		for _, t := range []struct{ path, value string }{{"storage.tls.cert", st.TLS.Cert},
			{"storage.tls.key", st.TLS.Key}, {"storage.tls.ca", st.TLS.CA}} {
			if t.value != "" {
				s.at(t.path, "needs storage.listen")
			}
		}
	}
	if st.Engine == EngineEmbedded && st.Listen != "" && st.TLS.Cert == "" {
		if st.TLS.CA != "" {
			s.at("storage.tls.ca", "needs storage.tls.cert: without it the store does not use TLS "+
				"and cannot check certificates")
		}
		if exposed(st.Listen) {
			s.at("storage.listen", "%s can be reached from other machines, and all documents would be sent "+
				"unencrypted: set storage.tls.cert and storage.tls.key, or listen on 127.0.0.1", st.Listen)
		}
	}
	if st.Engine == EngineRemote && st.TLS.CA == "" {
		if st.TLS.Cert != "" {
			s.at("storage.tls.cert", "needs storage.tls.ca: without it the store is accessed without TLS")
		}
		if st.Address != "" && exposed(st.Address) {
			s.at("storage.address", "%s is on another machine, and all documents would be sent unencrypted: set "+
				"storage.tls.ca to the certificate of the store or of its issuer", st.Address)
		}
	}
}

// checkSecrets checks the secrets that are accepted while secret is being changed.
func (s *settings) checkSecrets(path string, list []string, own, secret string) {
	if len(list) > 0 && secret == "" {
		s.at(path, "needs %s, during whose change these are accepted", own)
	}
	if slices.Contains(list, "") {
		s.at(path, "contains an empty secret")
	}
}

// leastTimeout is well above the latency of a busy cluster.
const leastTimeout = 100 * time.Millisecond

// checkAdmins checks the admins. A node without any may only listen on loopback.
func (s *settings) checkAdmins() {
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Admins)) {
		if name == "" {
			s.at("admins", "contains an empty name")
		}
		if _, err := auth.ParseHash(s.cfg.Admins[name]); err != nil {
			s.at("admins", "%s: %v; make one with: divan hash-password", name, err)
		}
	}
	stored, err := auth.StoredAdmins(s.cfg.Data)
	if err != nil {
		return // the node reports this when it opens its data directory, with exit status 1
	}
	if stored || len(s.cfg.Admins)+len(s.cfg.AdminPassword) > 0 {
		return
	}
	for _, l := range s.cfg.listeners() {
		if exposed(l.addr) {
			s.at(l.path, "%s can be reached from other machines but there is no admin, so anyone could do anything; "+
				"set admins in node.yaml or -admin USER:PASSWORD, or listen on 127.0.0.1", l.addr)
		}
	}
}

// checkAuth checks the settings that are CouchDB's options too.
func (s *settings) checkAuth() {
	texts := s.cfg.Auth.CouchOptions()
	for _, option := range []struct{ path, section, key string }{
		{"auth.handlers", "chttpd", "authentication_handlers"},
		{"auth.cookie_domain", "chttpd_auth", "cookie_domain"},
		{"auth.password_regexp", "chttpd_auth", "password_regexp"},
		{"auth.jwt.required_claims", "jwt_auth", "required_claims"},
	} {
		if _, err := auth.CheckRule(option.section, option.key, texts[option.section][option.key]); err != nil {
			s.at(option.path, "%v", err)
		}
	}
	keys := s.cfg.Auth.JWT.Keys
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if _, err := auth.CheckRule("jwt_keys", name, keys[name]); err != nil {
			s.at("auth.jwt.keys", "%s: %v", name, err)
		}
	}
}

// Exposed reports whether any listener can be reached from other machines.
func (c *Config) Exposed() bool {
	return slices.ContainsFunc(c.listeners(), func(l listener) bool { return exposed(l.addr) })
}

func exposed(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "localhost" {
		return false // an invalid address is a fault of its own
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsLoopback()
}

func (s *settings) checkTLS(path string, t TLS) {
	if (t.Cert == "") != (t.Key == "") {
		given := path + ".cert"
		if t.Cert == "" {
			given = path + ".key"
		}
		s.at(given, "TLS needs both cert and key")
	}
}

// checkHTTP checks the limits on what clients may use.
func (s *settings) checkHTTP() {
	h := s.cfg.HTTP
	if token := h.MetricsToken; token != "" && len(token) < leastToken {
		s.at("http.metrics_token", "is shorter than %d characters", leastToken)
	}
	if strings.ContainsFunc(h.MetricsToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		s.at("http.metrics_token", "contains a character that cannot be in a header")
	}
	if h.Utils != "" {
		if info, err := os.Stat(h.Utils); err != nil || !info.IsDir() {
			s.at("http.utils", "%s is not a directory", h.Utils)
		}
	}
	if need := 2 * s.cfg.Limits.Request; h.Bodies < need {
		s.at("http.bodies", "%s holds no request of limits.request (%s); it needs twice that", h.Bodies,
			s.cfg.Limits.Request)
	}
}

// leastToken is the length of a token that cannot be guessed, and maxDrain longer than any load balancer needs.
const (
	leastToken = 16
	maxDrain   = time.Hour
)

func (s *settings) checkCORS() {
	c := s.cfg.HTTP.CORS
	if c.Enabled && len(c.Origins) == 0 {
		s.at("http.cors.enabled", `needs http.cors.origins, such as ["https://app.example.com"] or ["*"]`)
	}
	if why := auth.CheckOrigins(c.Origins); why != "" {
		s.at("http.cors.origins", "%s", why)
	}
	if why := auth.CheckMethods(c.Methods); why != "" {
		s.at("http.cors.methods", "%s", why)
	}
	if why := auth.CheckHeaders(c.Headers); why != "" {
		s.at("http.cors.headers", "%s", why)
	}
}

func (s *settings) checkReplicator() {
	r := s.cfg.Replicator
	if (r.CertFile == "") != (r.KeyFile == "") {
		s.at("replicator.cert_file", "needs replicator.key_file, and the other way round")
	}
}

func (s *settings) checkCompaction() {
	c := s.cfg.Compaction
	if c.Latest < c.Age {
		s.at("compaction.latest", "must not be less than compaction.age, which is %v", c.Age)
	}
}

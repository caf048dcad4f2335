package auth_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

func lockout(o *auth.Options) {
	o.Lockout = auth.Lockout{Mode: auth.LockoutEnforce, Threshold: 3, Lifetime: time.Minute, MaxObjects: 100}
}

// kindFrom returns the error kind of a request from an address with these credentials.
func kindFrom(t *testing.T, a *auth.Authenticator, from, credentials string) layer.Kind {
	t.Helper()
	r := request(t, basic(credentials))
	r.RemoteAddr = from
	_, err := a.Authenticate(r)
	if err == nil {
		return kindOK
	}
	return layer.KindOf(err)
}

const kindOK = layer.Kind(-1)

func TestLockout_ByAddressAndName(t *testing.T) {
	a, db := newAuth(t, lockout)
	const here, there = "10.0.0.1:1", "10.0.0.2:1"
	for range 3 {
		if kind := kindFrom(t, a, here, "jan:wrong"); kind != layer.Unauthorized {
			t.Fatalf("a wrong password: %v", kind)
		}
	}
	for _, c := range []struct {
		what, from, credentials string
		want                    layer.Kind
	}{
		{"the right password from the same address", here, "jan:relax", layer.Forbidden},
		{"from another port of it", "10.0.0.1:7777", "jan:relax", layer.Forbidden},
		{"from another address", there, "jan:relax", kindOK},
		{"another name from the same address", here, "root:sesame", kindOK},
	} {
		if got := kindFrom(t, a, c.from, c.credentials); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5}
	if _, err := a.SCRAM(t.Context(), "jan", remote); layer.KindOf(err) != layer.Forbidden {
		t.Errorf("over sql: %v", err)
	}
	// A new password has a new salt.
	changed, err := a.HashUserDocument(t.Context(),
		[]byte(`{"name":"jan","password":"other","roles":[],"type":"user"}`))
	if err != nil {
		t.Fatal(err)
	}
	db.set("jan", string(changed))
	if kind := kindFrom(t, a, here, "jan:other"); kind != kindOK {
		t.Errorf("after the password was changed: %v", kind)
	}
}

// Wrong passwords over SQL count as they do over HTTP, and a name that does not exist is locked out like any other.
func TestLockout_OverSQLAndOfNobody(t *testing.T) {
	a, _ := newAuth(t, lockout)
	remote := &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 5}
	for range 3 {
		s, err := a.SCRAM(t.Context(), "ghost", remote)
		if err != nil {
			t.Fatal(err)
		}
		s.Failed()
	}
	if kind := kindFrom(t, a, "[2001:db8::2]:9", "ghost:boo"); kind != layer.Forbidden {
		t.Errorf("from the same network: %v", kind)
	}
	if kind := kindFrom(t, a, "[2001:db8:0:1::2]:9", "ghost:boo"); kind != layer.Unauthorized {
		t.Errorf("from another network: %v", kind)
	}
}

// The lock ends a while after the first wrong password, however many came later.
func TestLockout_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newAuth(t, lockout)
		for range 3 {
			kindFrom(t, a, "10.0.0.1:1", "jan:wrong")
			time.Sleep(10 * time.Second)
		}
		time.Sleep(29 * time.Second)
		if kind := kindFrom(t, a, "10.0.0.1:1", "jan:relax"); kind != layer.Forbidden {
			t.Errorf("after 59 seconds: %v", kind)
		}
		time.Sleep(time.Second)
		if kind := kindFrom(t, a, "10.0.0.1:1", "jan:relax"); kind != kindOK {
			t.Errorf("after 60 seconds: %v", kind)
		}
	})
}

// However many attempts are refused, the log has one line.
func TestLockout_Log(t *testing.T) {
	var log bytes.Buffer
	a, _ := newAuth(t, func(o *auth.Options) {
		lockout(o)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	for range 50 {
		kindFrom(t, a, "10.0.0.1:1", "jan:wrong")
	}
	if failed, refused := strings.Count(log.String(), "authentication failed"),
		strings.Count(log.String(), "too many wrong passwords"); failed != 3 || refused != 1 {
		t.Errorf("the log has %d failures and %d refusals:\n%s", failed, refused, &log)
	}
}

func TestLockout_Modes(t *testing.T) {
	for _, mode := range []string{auth.LockoutWarn, auth.LockoutOff} {
		a, _ := newAuth(t, func(o *auth.Options) {
			lockout(o)
			o.Lockout.Mode = mode
		})
		for range 5 {
			kindFrom(t, a, "10.0.0.1:1", "jan:wrong")
		}
		if kind := kindFrom(t, a, "10.0.0.1:1", "jan:relax"); kind != kindOK {
			t.Errorf("%s: %v", mode, kind)
		}
	}
}

// Behind a trusted proxy, the address is the client's. A client cannot choose it.
func TestLockout_Proxies(t *testing.T) {
	proxies, err := auth.ParseProxies([]string{"10.0.0.9", "192.168.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := newAuth(t, func(o *auth.Options) {
		lockout(o)
		o.Proxies = proxies
	})
	try := func(remote, forwarded, credentials string) error {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/db", nil)
		r.RemoteAddr = remote
		r.Header.Set("Authorization", basic(credentials))
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		_, err := a.Authenticate(r)
		return err
	}
	for i := range 3 {
		// X-Forwarded-For is ignored if it is sent by a client that is not a proxy, or precedes what the proxy added.
		_ = try("172.16.0.1:5", []string{"1.1.1.1", "2.2.2.2", "3.3.3.3"}[i], "root:wrong")
		_ = try("10.0.0.9:5", []string{"1.1.1.1, 9.9.9.9, 192.168.3.4", "9.9.9.9", "x, 9.9.9.9"}[i], "jan:wrong")
	}
	for _, c := range []struct {
		what, remote, forwarded, credentials string
		ok                                   bool
	}{
		{"not a proxy", "172.16.0.1:5", "4.4.4.4", "root:sesame", false},
		{"the client behind the proxies", "10.0.0.9:5", "9.9.9.9", "jan:relax", false},
		{"another client of the proxy", "10.0.0.9:5", "8.8.8.8", "jan:relax", true},
		{"the proxy itself", "10.0.0.9:5", "", "jan:relax", true},
	} {
		if err := try(c.remote, c.forwarded, c.credentials); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	for _, bad := range []string{"", "localhost", "10.0.0.0/33", "10.0.0.1:80"} {
		if _, err := auth.ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q is accepted as a proxy", bad)
		}
	}
}

// Refusing an admin set by -admin takes as long as refusing anyone else.
func TestAuthenticator_AdminPasswordIsAsSlow(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) {
		o.AdminPasswords = map[string]string{"boss": "open"}
		o.Iterations = 5000
	})
	if n := a.AdminIterations("boss"); n != 5000 {
		t.Errorf("%d iterations, want 5000", n)
	}
}

// Names that have logged in are told apart from others, and so are addresses that have sent a wrong password.
func TestAuthenticator_Priority(t *testing.T) {
	a, _ := newAuth(t, nil)
	good, bad := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	priority := func(from netip.Addr, name string, want auth.Priority) {
		t.Helper()
		if got := a.PriorityOf(from, name); got != want {
			t.Errorf("%s from %s: %d, want %d", name, from, got, want)
		}
	}
	priority(bad, "jan", auth.Newcomer)
	kindFrom(t, a, "10.0.0.2:1", "jan:wrong")
	priority(bad, "jan", auth.Suspect)
	priority(bad, "another", auth.Suspect)
	priority(good, "jan", auth.Newcomer)
	kindFrom(t, a, "10.0.0.1:1", "jan:relax")
	priority(good, "jan", auth.KnownName)
	priority(bad, "jan", auth.KnownName)
	priority(good, "another", auth.Newcomer)
}

// Wrong passwords are reported, and attempts during a lockout, with the name only if there is such a user: it may be a
// password.
func TestRefused(t *testing.T) {
	var got []string
	var log bytes.Buffer
	a, _ := newAuth(t, func(o *auth.Options) {
		lockout(o)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Refused = func(name string, known, locked bool, from netip.Addr) {
			got = append(got, fmt.Sprintf("%s %v %v %s", name, known, locked, from))
		}
	})
	for _, who := range []string{"jan:wrong", "secret:jan", "jan:relax", "jan:wrong", "jan:wrong", "jan:wrong",
		"jan:relax"} {
		kindFrom(t, a, "10.0.0.1:1", who)
	}
	if _, err := a.SCRAM(t.Context(), "jan", &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}); err == nil {
		t.Error("jan is not locked out over SQL")
	}
	wrong, locked := "jan true false 10.0.0.1", "jan true true 10.0.0.1"
	if want := []string{wrong, "secret false false 10.0.0.1", wrong, wrong, locked, locked,
		locked}; !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log has what may be a password: %s", &log)
	}
}

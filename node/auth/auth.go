// Package auth decides who a request comes from: admins of the configuration and users of the _users database, by basic
// authentication and session cookies over HTTP, by SCRAM-SHA-256 over SQL. What a user may do is decided where it is
// done.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
)

// AdminRole is the role of server admins.
const AdminRole = layer.AdminRole

// UserCtx is who makes a request. An anonymous one has no name and, unless the node has no admins, no roles.
type UserCtx struct {
	layer.UserCtx
	// Handler is CouchDB's name of how the user was recognised, "cookie" or "default"; empty for anonymous.
	Handler string

	renew string // the session salt, when the cookie is so old that it should be written anew
}

// IsAdmin reports whether the user is a server admin.
func (u UserCtx) IsAdmin() bool { return slices.Contains(u.Roles, AdminRole) }

// Users finds the documents of the _users database. It is called once per request of a user, concurrently.
type Users interface {
	// UserDocument returns the winning revision of org.couchdb.user:NAME as a JSON object, nil if there is none, and
	// whether the document has live conflicts.
	UserDocument(ctx context.Context, name string) (doc []byte, conflicted bool, err error)
}

// Options of an Authenticator.
type Options struct {
	// Admins maps names to hashes (ParseHash); AdminPasswords to clear passwords, which win over Admins of the same
	// name. With no admin configured, every client is an admin. The caller has made sure that only this machine can
	// connect then.
	Admins         map[string]string
	AdminPasswords map[string]string
	// Dir keeps the admins that are set while the node runs; empty keeps them in memory.
	Dir string
	// Exposed says that other machines can connect, so that the last admin must stay.
	Exposed bool
	Users   Users
	// Secret signs cookies. Nodes with the same one accept each other's.
	Secret []byte
	// Timeout is the life of a session cookie.
	Timeout           time.Duration
	PersistentCookies bool
	SameSite          string // "", "lax", "strict", "none"
	// RequireUser refuses anonymous requests but POST /_session and /_up.
	RequireUser bool
	// Iterations of PBKDF2 for new passwords (HashUserDocument).
	Iterations int
	// SQLIterations are those of a SCRAM verifier for the SQL port: of admins, whose hash serves both ports, and of
	// users beside the hash of Iterations. Zero, or not fewer than Iterations, is one hash for both.
	SQLIterations int
	// Lockout refuses log-ins after several wrong passwords. The zero value refuses none.
	Lockout Lockout
	// Proxies are believed when they say in X-Forwarded-For where a request comes from.
	Proxies []netip.Prefix
	Logger  *slog.Logger
}

// sqlIterations is of the verifiers that this node makes for the SQL port.
func (o Options) sqlIterations() int {
	n := o.Iterations
	if o.SQLIterations > 0 {
		n = min(n, o.SQLIterations)
	}
	return max(scramMinIterations, n)
}

// Authenticator is safe for concurrent use.
type Authenticator struct {
	o         Options
	accounts  accounts
	cookies   cookies
	proxies   proxies
	verifiers verifiers
	guard     guard
	// verified are credentials that passed the slow hash, with that hash. Wrong ones are not remembered: each costs its
	// slow hash.
	verified *remembered
	decoy    Hash // hashed against when there is no such user, so that answers take the same time
}

// New reads and checks the admins.
func New(o Options) (*Authenticator, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Authenticator{
		o:         o,
		accounts:  accounts{users: o.Users, log: o.Logger},
		cookies:   cookies{secret: o.Secret, timeout: o.Timeout, persistent: o.PersistentCookies, sameSite: o.SameSite},
		proxies:   o.Proxies,
		verifiers: verifiers{log: o.Logger},
		verified:  newRemembered(),
	}
	always := map[string]Hash{}
	for name, password := range o.AdminPasswords {
		// The salt depends on nothing but secrets, so that nodes with the same secret and admin accept each other's
		// sessions.
		salt := hexSalt(mac(o.Secret, "admin "+name+":"+password))
		always[name] = newSCRAM(password, salt, o.sqlIterations())
	}
	var err error
	if a.verifiers.sealer, err = sealKey(o.Secret); err != nil {
		return nil, err
	}
	if a.guard, err = newGuard(o.Lockout, o.Logger); err != nil {
		return nil, err
	}
	if a.accounts.admins, err = newAdminSet(o.Dir, o.Admins, always); err != nil {
		return nil, err
	}
	a.accounts.admins.fixed = o.Exposed
	a.decoy = Hash{
		scheme: schemeSCRAM, salt: rand.Text(), iterations: max(scramMinIterations, o.Iterations),
		key: make([]byte, sha256.Size), // nothing hashes to it
	}
	return a, nil
}

// Open reports whether no admin is configured, so that every client is an admin.
func (a *Authenticator) Open() bool { return a.accounts.admins.empty() }

func anonymous(open bool) UserCtx {
	u := UserCtx{UserCtx: layer.UserCtx{Roles: []string{}}}
	if open {
		u.Roles = []string{AdminRole}
		u.Handler = "default" // as CouchDB says in its admin party
	}
	return u
}

var (
	errWrongPassword = &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized",
		Reason: "Name or password is incorrect."}
	errNoUser     = &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: "Authentication required."}
	errConflicted = &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized",
		Reason: "User document conflicts must be resolved before the document is used for authentication purposes."}
	errCookie = &layer.Error{Kind: layer.Invalid, Name: "bad_request",
		Reason: "Malformed AuthSession cookie. Please clear your cookies."}
	errBase64 = &layer.Error{Kind: layer.Invalid, Name: "bad_request",
		Reason: "Authorization header has invalid base64 value"}
	errForged = &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized",
		Reason: "The AuthSession cookie is not valid. Log in again."}
	errOddity = &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized",
		Reason: "The Authorization header names no user. Send Basic with the base64 of NAME:PASSWORD."}
)

// Authenticate tells who sent r: by its cookie, else by basic credentials, else anonymous. Errors are of kind
// Unauthorized for a wrong name or password, Invalid for a cookie no node made and for what is no base64, or those of
// the store. It may take as long as a password hash when credentials are seen for the first time.
func (a *Authenticator) Authenticate(r *http.Request) (UserCtx, error) {
	u, err := a.recognise(r)
	if err != nil {
		return UserCtx{}, err
	}
	if a.o.RequireUser && u.Name == "" {
		login := r.URL.Path == "/_session" && r.Method == http.MethodPost
		if !login && r.URL.Path != "/_up" {
			return UserCtx{}, errNoUser
		}
	}
	return u, nil
}

func (a *Authenticator) recognise(r *http.Request) (UserCtx, error) {
	if u, ok, _, err := a.byCookie(r); ok || err != nil {
		return u, err
	}
	name, password, given, err := basicCredentials(r.Header.Values("Authorization"))
	if err != nil {
		return UserCtx{}, err
	}
	if given != credentials {
		return anonymous(a.Open()), nil
	}
	acc, err := a.login(r.Context(), a.proxies.clientAddr(r), name, password)
	if err != nil {
		return UserCtx{}, err
	}
	return acc.userCtx("default"), nil
}

// given is what an Authorization header holds.
type given int

const (
	nothing     given = iota
	credentials       // a name and a password
	oddity            // something that names nobody
)

// basicCredentials reads Authorization headers. What is no base64 is an error, as in CouchDB. Other schemes, an empty
// name, and no colon are oddities: requests with them are anonymous, since clients do send them (PouchDB's
// helper sends a lone colon), and GET /_session tells. The pair _:_, with which browsers are made to forget a login, is
// nothing.
func basicCredentials(headers []string) (name, password string, what given, err error) {
	header := strings.TrimSpace(strings.Join(headers, ","))
	if header == "" {
		return "", "", nothing, nil
	}
	kind, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "Basic") {
		return "", "", oddity, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", oddity, errBase64
	}
	name, password, ok := strings.Cut(string(raw), ":")
	switch {
	case name == "_" && password == "_":
		return "", "", nothing, nil
	case !ok || name == "":
		return "", "", oddity, nil
	}
	return name, password, credentials, nil
}

// passedOver is the error for credentials that an anonymous request brought and that name nobody; nil where it brought
// none, or a session that has ended.
func (a *Authenticator) passedOver(r *http.Request) error {
	_, _, forged, err := a.byCookie(r)
	if err != nil {
		return err
	}
	_, _, what, err := basicCredentials(r.Header.Values("Authorization"))
	switch {
	case err != nil:
		return err
	case forged:
		return errForged
	case what == oddity:
		return errOddity
	}
	return nil
}

// login checks a password that came from an address. The slow hash runs once per credentials: they are remembered,
// bound to the stored hash, so that a changed password is noticed at once. It is as slow for a name that does not
// exist.
func (a *Authenticator) login(ctx context.Context, from netip.Addr, name, password string) (account, error) {
	acc, found, err := a.accounts.find(ctx, name)
	if err != nil {
		return account{}, err
	}
	h := acc.hash
	if !found {
		h = a.decoy
	}
	attempt := a.guard.failures.attempt(from, name, h.salt)
	if err := a.guard.lockedOut(attempt, name, from); err != nil {
		return account{}, err
	}
	stored := h.String()
	if a.verified.has(name, password, stored) {
		return acc, nil
	}
	if err := a.guard.slow.take(ctx, from, a.guard.priority(from, name)); err != nil {
		return account{}, err
	}
	defer a.guard.slow.give()
	// Meanwhile others may have tried the same.
	if a.verified.has(name, password, stored) {
		return acc, nil
	}
	if err := a.guard.lockedOut(attempt, name, from); err != nil {
		return account{}, err
	}
	if !h.Matches(password) || !found {
		h.delay(a.decoy, password)
		a.guard.wrongPassword(attempt, name, from)
		return account{}, errWrongPassword
	}
	a.verified.add(name, password, stored)
	a.guard.known.add(name)
	return acc, nil
}

// SCRAM is what the SQL port needs to authenticate one client.
type SCRAM struct {
	SCRAMKeys
	// Admin is whether the name is a server admin's.
	Admin bool
	// Succeeded and Failed are told how the exchange ended. One that is broken off counts as neither.
	Succeeded, Failed func()
}

// SCRAM returns the keys for a client at remote that says to be name. For a name that cannot log in the keys are made
// up, always the same ones for a name, so that the exchange runs to its end and fails there, as with a wrong password.
// The error is Forbidden after too many wrong passwords, or the store's.
func (a *Authenticator) SCRAM(ctx context.Context, name string, remote net.Addr) (SCRAM, error) {
	acc, found, err := a.accounts.find(ctx, name)
	if err != nil {
		return SCRAM{}, err
	}
	h, from := acc.hash, remoteAddr(remote)
	if !found {
		h = a.decoy
	}
	attempt := a.guard.failures.attempt(from, name, h.salt)
	if err := a.guard.lockedOut(attempt, name, from); err != nil {
		return SCRAM{}, err
	}
	return SCRAM{
		SCRAMKeys: a.scramKeys(acc, found, name),
		Admin:     slices.Contains(acc.roles, AdminRole),
		Succeeded: func() { a.guard.known.add(name) },
		Failed:    func() { a.guard.wrongPassword(attempt, name, from) },
	}, nil
}

func (a *Authenticator) scramKeys(acc account, found bool, name string) SCRAMKeys {
	if found {
		if keys, ok := a.verifiers.hash(acc).SCRAM(); ok {
			return keys
		}
		a.o.Logger.Warn("user cannot log in over sql: the stored password is not hashed with sha256; set it again",
			"user", name)
	}
	salt := mac(a.o.Secret, "salt "+name)
	if a.accounts.admins.rawSalts() && salt[16]&1 == 0 {
		salt = salt[:16]
	} else {
		salt = hexSalt(salt)
	}
	// Passwords that were set before there was SQLIterations, or elsewhere, have Iterations. Half of the made up ones
	// have too, so that neither number tells who exists.
	iterations := a.o.sqlIterations()
	if mac(a.o.Secret, "iterations "+name)[0]&1 == 0 {
		iterations = max(scramMinIterations, a.o.Iterations)
	}
	return SCRAMKeys{
		Salt:       salt,
		Iterations: iterations,
		StoredKey:  mac(a.o.Secret, "stored "+name),
		ServerKey:  mac(a.o.Secret, "server "+name),
	}
}

// User is the name and roles of somebody who has logged in elsewhere. Unauthorized where there is no such user any
// more.
func (a *Authenticator) User(ctx context.Context, name string) (layer.UserCtx, error) {
	acc, found, err := a.accounts.find(ctx, name)
	if err == nil && !found {
		err = errWrongPassword
	}
	return layer.UserCtx{Name: acc.name, Roles: acc.roles}, err
}

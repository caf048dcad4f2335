// Package auth determines who a request comes from: an admin of the configuration or a user of the _users database, by
// basic authentication, session cookies, tokens or a proxy over HTTP, or by SCRAM-SHA-256 over SQL. What a user may do
// is decided elsewhere.
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
	"sync/atomic"

	"github.com/divandb/divan/layer"
)

// AdminRole is the role of server admins.
const AdminRole = layer.AdminRole

// UserCtx is the user who makes a request. An anonymous one has no name and, unless the node has no admins, no roles.
type UserCtx struct {
	layer.UserCtx
	// Handler is CouchDB's name for how the user was authenticated, such as HandlerCookie; empty for anonymous.
	Handler string

	renew string // the session salt, set if the cookie should be renewed
}

// IsAdmin reports whether the user is a server admin.
func (u UserCtx) IsAdmin() bool { return slices.Contains(u.Roles, AdminRole) }

// Users finds user documents. It is called once per request of a user, concurrently.
type Users interface {
	// UserDocument returns the winning revision of org.couchdb.user:NAME in a database as a JSON object, nil if there
	// is none, and whether the document has live conflicts.
	UserDocument(ctx context.Context, database, name string) (doc []byte, conflicted bool, err error)
	// HasUserDocument reports whether UserDocument would return a document. It is faster where there is none.
	HasUserDocument(ctx context.Context, database, name string) (bool, error)
}

// Options of an Authenticator.
type Options struct {
	// Admins maps names to hashes (ParseHash), and AdminPasswords to plain passwords, which take precedence. With no
	// admin configured, every client is an admin. The caller has then made sure that only this machine can connect.
	Admins         map[string]string
	AdminPasswords map[string]string
	// Keep stores admins that are set at run time. If it is nil, they are kept in memory.
	Keep AdminStore
	// Exposed means that other machines can connect. Then the last admin cannot be deleted, and without admins nobody
	// is one.
	Exposed bool
	Users   Users
	// Secret signs cookies unless the rules have another, and seals verifiers. Nodes with the same secret accept each
	// other's.
	Secret []byte
	// Rules are the first rules; see SetRules.
	Rules
	// SQLIterations is the number of iterations of SCRAM verifiers: for admins, whose hash serves both ports, and for
	// users, who have such a verifier in addition to a hash with Iterations. If it is zero, or not less than
	// Iterations, one hash serves both ports.
	SQLIterations int
	// Proxies are the reverse proxies whose X-Forwarded-For is trusted.
	Proxies []netip.Prefix
	Logger  *slog.Logger
	// Refused, if not nil, is called after each wrong password, in place of a line in the log, and after each attempt
	// that is refused unseen during a Lockout, with locked. known reports whether there is a user of that name: people
	// also type passwords where names belong. It must not block.
	Refused func(name string, known, locked bool, from netip.Addr)
}

// sqlIterations returns the number of iterations of the verifiers that this node makes for the SQL port.
func (a *Authenticator) sqlIterations() int {
	n := a.rules.Load().Iterations
	if a.o.SQLIterations > 0 {
		n = min(n, a.o.SQLIterations)
	}
	return max(scramMinIterations, n)
}

// secret returns the secret of cookies and of proxies' tokens.
func (a *Authenticator) secret(rules *Rules) []byte {
	if len(rules.Secret) > 0 {
		return rules.Secret
	}
	return a.o.Secret
}

// DerivedSecret returns a secret for another use, which nodes with the same secret share.
func (a *Authenticator) DerivedSecret(use string) []byte { return mac(a.o.Secret, "divan "+use) }

// Authenticator authenticates requests. It is safe for concurrent use.
type Authenticator struct {
	o         Options // the rules in it are only the first ones
	rules     atomic.Pointer[Rules]
	accounts  accounts
	proxies   proxies
	upgrades  upgrades
	verifiers verifiers
	guard     guard
	// verified has credentials that passed the slow hash, each with that hash. Wrong credentials are not remembered and
	// always cost the slow hash.
	verified *remembered
	decoy    Hash // hashed against for unknown users, so that refusals take the same time
}

// New checks the options and returns an Authenticator.
func New(o Options) (*Authenticator, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Authenticator{
		o:         o,
		accounts:  accounts{users: o.Users, log: o.Logger},
		proxies:   o.Proxies,
		verifiers: verifiers{log: o.Logger},
		verified:  newRemembered(),
	}
	a.accounts.rules = &a.rules
	a.upgrades.open(o.Logger)
	a.guard = newGuard(o)
	if err := a.SetRules(o.Rules); err != nil {
		return nil, err
	}
	always := map[string]Hash{}
	for name, password := range o.AdminPasswords {
		// The salt depends only on secrets, so nodes with the same secret and admin accept each other's sessions.
		salt := hexSalt(mac(o.Secret, "admin "+name+":"+password))
		always[name] = newSCRAM(password, salt, a.sqlIterations())
	}
	var err error
	if a.verifiers.sealer, err = sealKey(o.Secret); err != nil {
		return nil, err
	}
	if a.accounts.admins, err = newAdminSet(o.Admins, always); err != nil {
		return nil, err
	}
	a.accounts.admins.keep, a.accounts.admins.fixed = o.Keep, o.Exposed
	a.decoy = Hash{
		scheme: schemeSCRAM, salt: rand.Text(), iterations: max(scramMinIterations, o.Iterations),
		key: make([]byte, sha256.Size), // no password hashes to it
	}
	return a, nil
}

// UsersDatabase returns the name of the database of the users who log in.
func (a *Authenticator) UsersDatabase() string { return a.rules.Load().Database }

// Open reports whether there is no admin, so that every client is one.
func (a *Authenticator) Open() bool { return !a.o.Exposed && a.accounts.admins.empty() }

func anonymous(open bool) UserCtx {
	u := UserCtx{UserCtx: layer.UserCtx{Roles: []string{}}}
	if open {
		u.Roles = []string{AdminRole}
		u.Handler = HandlerDefault // as CouchDB without admins
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

// visit is a request whose user is looked for.
type visit struct {
	a     *Authenticator
	r     *http.Request
	rules *Rules
}

// Authenticate returns the user of r: by the first of the rules' handlers that finds one, else anonymous. The error is
// Unauthorized for a wrong name or password, Invalid for a cookie that no node made, a wrong token or invalid base64,
// or an error of the store. For credentials seen for the first time it takes as long as a password hash.
func (a *Authenticator) Authenticate(r *http.Request) (UserCtx, error) {
	v := &visit{a, r, a.rules.Load()}
	for _, handler := range v.rules.Handlers {
		var u UserCtx
		var ok bool
		var err error
		switch handler {
		case HandlerCookie:
			u, ok, _, err = v.byCookie()
		case HandlerJWT:
			u, ok, err = v.byToken()
		case HandlerProxy:
			u, ok = v.byProxy()
		case HandlerDefault:
			u, ok, err = v.byPassword()
		}
		if ok || err != nil {
			return u, err
		}
	}
	return anonymous(a.Open() && !v.rules.requireUser()), nil
}

// Admit returns an error for an anonymous request if the rules require users.
func (a *Authenticator) Admit(r *http.Request, u layer.UserCtx) error {
	rules := a.rules.Load()
	if !rules.requireUser() || u.Name != "" || slices.Contains(u.Roles, AdminRole) {
		return nil
	}
	switch r.URL.Path {
	case "/_session":
		if r.Method == http.MethodPost {
			return nil
		}
	case "/_up":
		if rules.RequireUserExceptUp {
			return nil
		}
	}
	return errNoUser
}

func (v *visit) byPassword() (u UserCtx, ok bool, err error) {
	name, password, given, err := basicCredentials(v.r.Header.Values("Authorization"))
	if err != nil || given != credentials {
		return UserCtx{}, false, err
	}
	acc, err := v.a.login(v.r.Context(), v.a.proxies.clientAddr(v.r), name, password)
	return acc.userCtx(HandlerDefault), err == nil, err
}

// given is what an Authorization header contains.
type given int

const (
	nothing     given = iota
	credentials       // a name and a password
	oddity            // something without a user
)

// basicCredentials reads Authorization headers. Invalid base64 is an error, as in CouchDB. Other schemes, an empty name
// and a missing colon are oddities: clients do send them (PouchDB's helper sends a lone colon), so such requests are
// anonymous, but GET /_session reports an error. The pair _:_, with which browsers are made to forget a login, counts
// as nothing.
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

// passedOver returns the error for credentials that an anonymous request brought but that name no user. It returns nil
// if there were none, or if the session has ended.
func (a *Authenticator) passedOver(r *http.Request) error {
	_, _, forged, err := (&visit{a, r, a.rules.Load()}).byCookie()
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

// login checks a password that came from an address. The slow hash runs once per credentials: they are then remembered
// together with the stored hash, so a changed password takes effect at once. An unknown name takes as long.
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
	if err := a.guard.lockedOut(attempt, name, found, from); err != nil {
		return account{}, err
	}
	if err := acc.bounded(a.rules.Load()); err != nil {
		return account{}, err
	}
	stored := h.String()
	if a.verified.has(name, password, stored) {
		a.upgrades.add(a.o.Users, acc, password, a.rules.Load())
		return acc, nil
	}
	if err := a.guard.slow.take(ctx, from, a.guard.priority(from, name)); err != nil {
		return account{}, err
	}
	defer a.guard.slow.give()
	// Another login may have tried the same credentials meanwhile.
	if a.verified.has(name, password, stored) {
		return acc, nil
	}
	if err := a.guard.lockedOut(attempt, name, found, from); err != nil {
		return account{}, err
	}
	if !h.Matches(password) || !found {
		h.delay(a.decoy, password)
		a.guard.wrongPassword(attempt, name, found, from)
		return account{}, errWrongPassword
	}
	a.verified.add(name, password, stored)
	a.guard.known.add(name)
	a.upgrades.add(a.o.Users, acc, password, a.rules.Load())
	return acc, nil
}

// SCRAM is what the SQL port needs to authenticate a client.
type SCRAM struct {
	SCRAMKeys
	// Admin reports whether the name is that of a server admin.
	Admin bool
	// The caller calls Succeeded or Failed when the exchange has ended. An aborted exchange counts as neither.
	Succeeded, Failed func()
}

// SCRAM returns the keys for a client at remote that claims to be name. For a name that cannot log in, it returns
// invented keys, always the same for the same name, so that the exchange fails at its end as with a wrong password. The
// error is Forbidden after too many wrong passwords, or one of the store.
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
	if err := a.guard.lockedOut(attempt, name, found, from); err != nil {
		return SCRAM{}, err
	}
	if err := acc.bounded(a.rules.Load()); err != nil {
		return SCRAM{}, err
	}
	return SCRAM{
		SCRAMKeys: a.scramKeys(acc, found, name),
		Admin:     slices.Contains(acc.roles, AdminRole),
		Succeeded: func() { a.guard.known.add(name) },
		Failed:    func() { a.guard.wrongPassword(attempt, name, found, from) },
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
	// Passwords that were set before SQLIterations existed, or elsewhere, have Iterations. So do half of the invented
	// ones, so that neither number tells which names exist.
	iterations := a.sqlIterations()
	if mac(a.o.Secret, "iterations "+name)[0]&1 == 0 {
		iterations = max(scramMinIterations, a.rules.Load().Iterations)
	}
	return SCRAMKeys{
		Salt:       salt,
		Iterations: iterations,
		StoredKey:  mac(a.o.Secret, "stored "+name),
		ServerKey:  mac(a.o.Secret, "server "+name),
	}
}

// User returns the name and the roles of a user who was authenticated elsewhere. The error is Unauthorized if the user
// no longer exists.
func (a *Authenticator) User(ctx context.Context, name string) (layer.UserCtx, error) {
	acc, found, err := a.accounts.find(ctx, name)
	if err == nil && !found {
		err = errWrongPassword
	}
	return layer.UserCtx{Name: acc.name, Roles: acc.roles}, err
}

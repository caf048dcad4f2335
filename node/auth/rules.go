package auth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of handlers: the ways to authenticate a request, as GET /_session shows them.
const (
	HandlerCookie  = "cookie"
	HandlerDefault = "default" // basic
	HandlerJWT     = "jwt"
	HandlerProxy   = "proxy"
)

// Rules are the options of authentication that clients can change while the node runs. They are immutable.
type Rules struct {
	// Handlers are tried in this order.
	Handlers []string
	// RequireUser refuses anonymous requests except POST /_session, and RequireUserExceptUp those except /_up too.
	RequireUser, RequireUserExceptUp bool

	// Timeout is how long a session cookie is valid.
	Timeout           time.Duration
	PersistentCookies bool
	SameSite          string // "", "lax", "strict", "none"
	CookieDomain      string // empty: the host that the browser asked
	// Secret signs cookies and the tokens of proxies. If it is empty, Options.Secret does.
	Secret []byte
	// Hashes are the hash functions of these signatures. All are accepted; the first makes new ones.
	Hashes []string

	// Iterations is the number of PBKDF2 iterations for new passwords (HashUserDocument), with the hash function PRF.
	Iterations int
	PRF        string
	// MinIterations and MaxIterations bound those of user documents; others cannot log in. 0 means no bound.
	MinIterations, MaxIterations int
	// UpgradeHashes hashes the password of a user document anew when its user logs in, if Iterations or PRF is another.
	UpgradeHashes bool
	// Passwords are the rules for new passwords of users.
	Passwords PasswordRules
	// Database has the user documents that are used to log in; empty: _users.
	Database string
	// AllowConflicts lets users log in whose document has conflicts.
	AllowConflicts bool
	// PublicFields are the members of user documents that everyone may read.
	PublicFields []string

	// Lockout refuses logins after several wrong passwords. The zero value refuses none.
	Lockout Lockout
	JWT     JWTRules
	Proxy   ProxyRules
}

// SetRules replaces the rules. Requests that are being authenticated still use the former ones.
func (a *Authenticator) SetRules(r Rules) error {
	if err := a.guard.failures.bound(r.Lockout); err != nil {
		return err
	}
	r = withDefaults(r)
	a.rules.Store(&r)
	return nil
}

func withDefaults(r Rules) Rules {
	if len(r.Handlers) == 0 {
		r.Handlers = []string{HandlerCookie, HandlerDefault}
	}
	if len(r.Hashes) == 0 {
		r.Hashes = []string{"sha256", "sha"}
	}
	if r.PRF == "" {
		r.PRF = string(schemeSHA256)
	}
	if r.Database == "" {
		r.Database = UsersDatabase
	}
	r.JWT.setDefaults()
	r.Proxy.setDefaults()
	return r
}

func (r *Rules) requireUser() bool { return r.RequireUser || r.RequireUserExceptUp }

// Rule names an option of CouchDB's configuration that is part of the Rules.
type Rule struct{ Section, Key string }

// ruleReaders parse the options. A key "*" stands for all keys of its section.
var ruleReaders = map[Rule]func(r *Rules, key, value string) error{
	{"chttpd", "authentication_handlers"}:          readHandlers,
	{"chttpd", "require_valid_user"}:               readBool(func(r *Rules) *bool { return &r.RequireUser }),
	{"chttpd", "require_valid_user_except_for_up"}: readBool(func(r *Rules) *bool { return &r.RequireUserExceptUp }),

	{"chttpd_auth", "timeout"}: readNumber(1, maxSeconds, func(r *Rules, n int) {
		r.Timeout = time.Duration(n) * time.Second
	}),
	{"chttpd_auth", "allow_persistent_cookies"}: readBool(func(r *Rules) *bool { return &r.PersistentCookies }),
	{"chttpd_auth", "same_site"}:                readSameSite,
	{"chttpd_auth", "cookie_domain"}:            readDomain,
	{"chttpd_auth", "secret"}:                   readSecret,
	{"chttpd_auth", "hash_algorithms"}:          readHashes,
	{"chttpd_auth", "iterations"}: readNumber(1, maxIterations, func(r *Rules, n int) {
		r.Iterations = n
	}),
	{"chttpd_auth", "min_iterations"}: readNumber(1, maxCount, func(r *Rules, n int) {
		r.MinIterations = n
	}),
	{"chttpd_auth", "max_iterations"}: readNumber(1, maxCount, func(r *Rules, n int) {
		r.MaxIterations = n
	}),
	{"chttpd_auth", "password_scheme"}:            readScheme,
	{"chttpd_auth", "pbkdf2_prf"}:                 readPRF,
	{"chttpd_auth", "upgrade_hash_on_auth"}:       readBool(func(r *Rules) *bool { return &r.UpgradeHashes }),
	{"chttpd_auth", "password_regexp"}:            readPasswordRules,
	{"chttpd_auth", "authentication_db"}:          readDatabase,
	{"chttpd_auth", "allow_conflicted_user_docs"}: readBool(func(r *Rules) *bool { return &r.AllowConflicts }),
	{"chttpd_auth", "public_fields"}:              readPublicFields,
	{"chttpd_auth", "proxy_use_secret"}:           readBool(func(r *Rules) *bool { return &r.Proxy.UseSecret }),
	{"chttpd_auth", "x_auth_username"}:            readHeader(func(r *Rules) *string { return &r.Proxy.Username }),
	{"chttpd_auth", "x_auth_roles"}:               readHeader(func(r *Rules) *string { return &r.Proxy.Roles }),
	{"chttpd_auth", "x_auth_token"}:               readHeader(func(r *Rules) *string { return &r.Proxy.Token }),

	{"chttpd_auth_lockout", "mode"}: readLockoutMode,
	{"chttpd_auth_lockout", "threshold"}: readNumber(1, 1_000_000, func(r *Rules, n int) {
		r.Lockout.Threshold = n
	}),
	{"chttpd_auth_lockout", "max_lifetime"}: readNumber(1, maxCount, func(r *Rules, n int) {
		r.Lockout.Lifetime = time.Duration(n) * time.Millisecond
	}),
	{"chttpd_auth_lockout", "max_objects"}: readNumber(1, 10_000_000, func(r *Rules, n int) {
		r.Lockout.MaxObjects = n
	}),

	{"jwt_auth", "required_claims"}:  readClaims,
	{"jwt_auth", "roles_claim_name"}: func(r *Rules, _, value string) error { r.JWT.RolesName = value; return nil },
	{"jwt_auth", "roles_claim_path"}: func(r *Rules, _, value string) error {
		r.JWT.RolesPath = rolesPath(value)
		return nil
	},
	{"jwt_keys", "*"}: readKey,
}

const (
	maxSeconds = 1 << 31 / 1000 * 60 // some four years, far from any overflow
	maxCount   = 1<<31 - 1
)

// CheckRule reports whether an option is part of the Rules, and what is wrong with a value of it.
func CheckRule(section, key, value string) (known bool, err error) {
	read := ruleReaders[Rule{section, key}]
	if read == nil {
		if read = ruleReaders[Rule{section, "*"}]; read == nil {
			return false, nil
		}
	}
	return true, read(&Rules{}, key, value)
}

// ParseRules reads the Rules from CouchDB's options by section and key. Options that are not given keep their value in
// base. A value that CheckRule refuses is an error.
func ParseRules(base Rules, options map[string]map[string]string) (Rules, error) {
	for rule, read := range ruleReaders {
		for key, value := range options[rule.Section] {
			if key != rule.Key && rule.Key != "*" {
				continue
			}
			if err := read(&base, key, value); err != nil {
				return base, fmt.Errorf("%s/%s: %w", rule.Section, key, err)
			}
		}
	}
	return withDefaults(base), nil
}

// IsRuleSection reports whether a section has options of the Rules.
func IsRuleSection(section string) bool {
	for rule := range ruleReaders {
		if rule.Section == section {
			return true
		}
	}
	return false
}

func readBool(field func(*Rules) *bool) func(*Rules, string, string) error {
	return func(r *Rules, _, value string) error {
		if value != "true" && value != "false" {
			return errNoBool
		}
		*field(r) = value == "true"
		return nil
	}
}

func readNumber(low, high int, set func(*Rules, int)) func(*Rules, string, string) error {
	return func(r *Rules, _, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < low || n > high {
			return fmt.Errorf("it is not a number from %d to %d", low, high)
		}
		set(r, n)
		return nil
	}
}

// splitList splits a comma-separated option, dropping empty members.
func splitList(value string) []string {
	var list []string
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}

func readSameSite(r *Rules, _, value string) error {
	value = strings.ToLower(value)
	if !slices.Contains([]string{"", "lax", "strict", "none"}, value) {
		return errSameSite
	}
	r.SameSite = value
	return nil
}

func readSecret(r *Rules, _, value string) error {
	if value == "" {
		return errNoSecret
	}
	r.Secret = []byte(value)
	return nil
}

func readScheme(_ *Rules, _, value string) error {
	if value != "pbkdf2" {
		return errScheme
	}
	return nil
}

func readPRF(r *Rules, _, value string) error {
	if prfs[scheme(value)] == nil {
		return errPRF
	}
	r.PRF = value
	return nil
}

func readDatabase(r *Rules, _, value string) error {
	if !IsUsersDatabase(value) {
		return errNoUsersDatabase
	}
	r.Database = value
	return nil
}

func readPublicFields(r *Rules, _, value string) error {
	r.PublicFields = splitList(value)
	for _, name := range r.PublicFields {
		if slices.Contains(passwordMembers, name) {
			return fmt.Errorf("%s is part of the password", name)
		}
	}
	return nil
}

func readHeader(field func(*Rules) *string) func(*Rules, string, string) error {
	return func(r *Rules, _, value string) error {
		if why := CheckHeaders([]string{value}); why != "" {
			return errNoHeader
		}
		*field(r) = value
		return nil
	}
}

func readLockoutMode(r *Rules, _, value string) error {
	if !slices.Contains([]string{LockoutOff, LockoutWarn, LockoutEnforce}, value) {
		return errLockoutMode
	}
	r.Lockout.Mode = value
	return nil
}

// readDomain reads the Domain of cookies.
func readDomain(r *Rules, _, value string) error {
	valid := func(c rune) bool {
		return c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if strings.ContainsFunc(value, func(c rune) bool { return !valid(c) }) {
		return errNoDomain
	}
	r.CookieDomain = value
	return nil
}

// readHandlers reads CouchDB's list of functions, such as {chttpd_auth, cookie_authentication_handler}.
func readHandlers(r *Rules, _, value string) error {
	terms, err := parseTerms("[" + value + "]")
	if err != nil {
		return err
	}
	var list []string
	for _, t := range terms.items {
		name := ""
		if t.kind == termTuple && len(t.items) == 2 && t.items[0].kind == termAtom && t.items[1].kind == termAtom &&
			slices.Contains([]string{"chttpd_auth", "couch_httpd_auth"}, t.items[0].text) {
			name = handlerFunctions[t.items[1].text]
		}
		if name == "" || slices.Contains(list, name) {
			return errHandlers
		}
		list = append(list, name)
	}
	if len(list) == 0 {
		return errHandlers
	}
	r.Handlers = list
	return nil
}

var handlerFunctions = map[string]string{
	"cookie_authentication_handler":  HandlerCookie,
	"default_authentication_handler": HandlerDefault,
	"jwt_authentication_handler":     HandlerJWT,
	"proxy_authentication_handler":   HandlerProxy,
	"proxy_authentification_handler": HandlerProxy,
}

// HandlersText returns a list of handlers as CouchDB's configuration writes it.
func HandlersText(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, "{chttpd_auth, "+name+"_authentication_handler}")
	}
	return strings.Join(list, ", ")
}

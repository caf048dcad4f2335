package auth

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer"
)

// UserPrefix begins the ids of user documents.
const UserPrefix = "org.couchdb.user:"

// account is what the store or the configuration says about a name that may log in.
type account struct {
	name  string
	roles []string
	hash  Hash
	// sealed is the sql_verifier of a user document, made for derivedKey. Both are empty if hash serves both ports.
	sealed, derivedKey string
	document           bool // of a user document
}

// bounded returns an error for a user document whose iterations the rules do not allow.
func (acc account) bounded(rules *Rules) error {
	n := acc.hash.iterations
	switch {
	case !acc.document || acc.hash.scheme == schemeSCRAM || acc.hash.scheme == schemeSimple:
		return nil
	case rules.MinIterations > 0 && n < rules.MinIterations:
		return forbidden("Iteration count is too low for this server")
	case rules.MaxIterations > 0 && n > rules.MaxIterations:
		return forbidden("Iteration count is too high for this server")
	}
	return nil
}

func (acc account) userCtx(handler string) UserCtx {
	return UserCtx{UserCtx: layer.UserCtx{Name: acc.name, Roles: acc.roles}, Handler: handler}
}

// adminPatience is how long the roles of an admin's user document are waited for.
const adminPatience = time.Second

// accounts finds the names that may log in.
type accounts struct {
	admins *adminSet
	users  Users // nil: there are only admins
	rules  *atomic.Pointer[Rules]
	log    *slog.Logger
}

// find looks up a name: first among the admins of the configuration (adding the roles of a user document of the same
// name, as CouchDB does), then among user documents. found is false for a document without a usable password.
func (a *accounts) find(ctx context.Context, name string) (acc account, found bool, err error) {
	hash, ok := a.admins.get(name)
	if !ok {
		return a.user(ctx, name)
	}
	acc = account{name: name, roles: []string{AdminRole}, hash: hash}
	// Few admins have a user document. An admin must be able to log in to repair an unreadable store, and to look at
	// one that does not answer, so errors are ignored here, and an answer is not waited for long.
	if a.users != nil {
		ctx, cancel := context.WithTimeout(ctx, adminPatience)
		defer cancel()
		if has, err := a.users.HasUserDocument(ctx, a.rules.Load().Database, name); err == nil && has {
			user, _, _ := a.user(ctx, name)
			acc.roles = append(acc.roles, user.roles...)
		}
	}
	return acc, true, nil
}

// userDocument has the members of a user document that authentication needs.
type userDocument struct {
	Name           string   `json:"name"`
	Type           string   `json:"type"`
	Roles          []string `json:"roles"`
	PasswordScheme string   `json:"password_scheme"`
	PRF            string   `json:"pbkdf2_prf"`
	Salt           string   `json:"salt"`
	Iterations     int      `json:"iterations"`
	DerivedKey     string   `json:"derived_key"`
	PasswordSHA    string   `json:"password_sha"`
	Verifier       string   `json:"scram_verifier"`
	Sealed         string   `json:"sql_verifier"`
}

func (a *accounts) user(ctx context.Context, name string) (acc account, found bool, err error) {
	if a.users == nil {
		return account{}, false, nil
	}
	rules := a.rules.Load()
	body, conflicted, err := a.users.UserDocument(ctx, rules.Database, name)
	if err != nil {
		return account{}, false, fmt.Errorf("look up user %q: %w", name, err)
	}
	if body == nil {
		return account{}, false, nil
	}
	if conflicted && !rules.AllowConflicts {
		return account{}, false, errConflicted
	}
	var doc userDocument
	if err := layer.UnmarshalExact(body, &doc); err != nil {
		a.log.Warn("user document cannot be used to log in", "user", name, "err", err)
		return account{}, false, nil
	}
	acc = account{name: name, roles: doc.Roles, document: true}
	if acc.roles == nil {
		acc.roles = []string{}
	}
	acc.hash, err = doc.hash()
	if err != nil {
		a.log.Warn("user document has no usable password", "user", name, "err", err)
		return acc, false, nil
	}
	if doc.PasswordScheme == "pbkdf2" {
		acc.sealed, acc.derivedKey = doc.Sealed, doc.DerivedKey
	}
	return acc, true, nil
}

func (doc userDocument) hash() (Hash, error) {
	switch doc.PasswordScheme {
	case "pbkdf2":
		prf := scheme(doc.PRF)
		if doc.PRF == "" {
			prf = schemeSHA1
		}
		return newCouchHash(prf, doc.DerivedKey, doc.Salt, doc.Iterations)
	case schemeVerifier:
		return ParseHash(doc.Verifier)
	case "simple", "":
		return newCouchHash(schemeSimple, doc.PasswordSHA, doc.Salt, 1)
	}
	return Hash{}, fmt.Errorf("%w: unknown password_scheme %q", ErrHash, doc.PasswordScheme)
}

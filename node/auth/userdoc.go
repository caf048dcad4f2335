package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
)

// passwordMembers are the members of a user document that describe its password. HashUserDocument and WithSecret
// replace all of them. A client may also store them itself, already hashed.
var passwordMembers = []string{
	"derived_key", "iterations", "password", "password_scheme", "password_sha", "preserve_salt", "pbkdf2_prf", "salt",
	"scram_verifier", "sql_verifier",
}

// schemeVerifier is the password_scheme of a document whose scram_verifier was set with SQL's ALTER USER. CouchDB does
// not know it.
const schemeVerifier = "scram-sha-256"

// IsVerifier reports whether a secret is a SCRAM-SHA-256 verifier. The error is for a secret that begins like a stored
// hash but is invalid: it is not accepted as a password either.
func IsVerifier(secret string) (yes bool, err error) {
	if !looksHashed(secret) {
		return false, nil
	}
	h, err := ParseHash(secret)
	if err == nil && h.scheme != schemeSCRAM {
		err = ErrHash
	}
	return err == nil, err
}

// ErrUncheckable is returned for a verifier while there are rules for passwords.
var ErrUncheckable = errors.New("a verifier cannot be checked by the rules for passwords")

// WithSecret returns a user document with another password: either a verifier, which is stored unchanged, or plain
// text, which HashUserDocument hashes afterwards. The text of other members is kept. The errors are ErrHash,
// ErrUncheckable, or that of a document that is no object.
func WithSecret(a *Authenticator, doc []byte, secret string) ([]byte, error) {
	verifier, err := IsVerifier(secret)
	if err != nil {
		return nil, err
	}
	if verifier && len(a.rules.Load().Passwords) > 0 {
		return nil, ErrUncheckable
	}
	first := map[string]string{"password": secret}
	if verifier {
		first = map[string]string{"password_scheme": schemeVerifier, "scram_verifier": secret}
	}
	head, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	return replacePassword(doc, head)
}

// WithSamePassword returns a user document from which HashUserDocument makes another hash of its password, with the
// same salt.
func WithSamePassword(doc []byte, password string) ([]byte, error) {
	var old userDocument
	if err := layer.UnmarshalExact(doc, &old); err != nil {
		return nil, err
	}
	head, err := json.Marshal(struct {
		Password string `json:"password"`
		Preserve bool   `json:"preserve_salt"`
		Salt     string `json:"salt"`
	}{password, true, old.Salt})
	if err != nil {
		return nil, err
	}
	return replacePassword(doc, head)
}

// HashUserDocument checks the plain "password" of a user document by the rules, and replaces it by password_scheme,
// pbkdf2_prf, salt, iterations and derived_key, written before the other members as by CouchDB 3.5, and by
// sql_verifier, a sealed SCRAM verifier, if the key cannot serve the SQL port. It returns a document without a password
// unchanged. doc is a JSON object. With "preserve_salt", the salt stays, and so do sessions. The text of other members
// is kept. It takes as long as a password hash.
func (a *Authenticator) HashUserDocument(ctx context.Context, doc []byte) ([]byte, error) {
	var given struct{ password, name, salt, preserve json.RawMessage }
	err := eachMember(doc, func(name string, value json.RawMessage) error {
		switch name {
		case "password":
			given.password = value
		case "name":
			given.name = value
		case "salt":
			given.salt = value
		case "preserve_salt":
			given.preserve = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if given.password == nil || string(given.password) == "null" {
		return doc, nil
	}
	rules := a.rules.Load()
	var password, salt, name string
	if err := json.Unmarshal(given.password, &password); err != nil {
		return nil, forbidden("Password value is invalid: it must be a string.")
	}
	if err := rules.Passwords.check(password); err != nil {
		return nil, err
	}
	if string(given.preserve) != "true" || json.Unmarshal(given.salt, &salt) != nil || salt == "" {
		raw := make([]byte, 16)
		rand.Read(raw)
		salt = hex.EncodeToString(raw) // CouchDB hashes the hex text, not the bytes
	}

	// All documents queue as if from one address, so that many of them do not delay logins.
	if err := a.guard.slow.take(ctx, netip.Addr{}, newcomer); err != nil {
		return nil, err
	}
	prf := prfs[scheme(rules.PRF)]
	if rules.PRF == string(schemeSHA256) { // may serve the SQL port
		password = prepared(password)
	}
	key := hex.EncodeToString(derive(prf, password, salt, rules.Iterations, prf().Size()))
	sealed := ""
	n := a.sqlIterations()
	if (n < rules.Iterations || rules.PRF != string(schemeSHA256)) && json.Unmarshal(given.name, &name) == nil {
		sealed = a.verifiers.seal(NewHash(password, n), name, key)
	}
	a.guard.slow.give()

	head, err := json.Marshal(struct {
		Scheme     string `json:"password_scheme"`
		PRF        string `json:"pbkdf2_prf"`
		Salt       string `json:"salt"`
		Iterations int    `json:"iterations"`
		Key        string `json:"derived_key"`
		Sealed     string `json:"sql_verifier,omitempty"`
	}{"pbkdf2", rules.PRF, salt, rules.Iterations, key, sealed})
	if err != nil {
		return nil, err
	}
	return replacePassword(doc, head)
}

// replacePassword replaces the password members of a document by those of head, an object.
func replacePassword(doc, head []byte) ([]byte, error) {
	out := bytes.NewBuffer(head[:len(head)-1])
	err := eachMember(doc, func(name string, value json.RawMessage) error {
		if slices.Contains(passwordMembers, name) {
			return nil
		}
		text, err := json.Marshal(name)
		if err != nil {
			return err
		}
		out.WriteByte(',')
		out.Write(text)
		out.WriteByte(':')
		out.Write(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// eachMember calls fn for each member of a JSON object, in order. There may be millions.
func eachMember(doc []byte, fn func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(doc))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return badRequest("Document must be a JSON object")
	}
	for dec.More() {
		tok, err := dec.Token()
		name, isName := tok.(string)
		if err != nil || !isName {
			return badRequest("invalid JSON")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return badRequest("invalid JSON")
		}
		if err := fn(name, value); err != nil {
			return err
		}
	}
	return nil
}

func forbidden(reason string) error {
	return &layer.Error{Kind: layer.Forbidden, Name: "forbidden", Reason: reason}
}

// UserUpdate is a write to the _users database, for CheckUserUpdate.
type UserUpdate struct {
	ID      string
	New     []byte // the document as it will be stored, after HashUserDocument
	Old     []byte // the winner that it replaces; nil for a new document
	Deleted bool
	By      layer.UserCtx
	// DatabaseAdmin is set if By is a server admin or an admin in the _security object of _users.
	DatabaseAdmin bool
}

// CheckUserUpdate applies the rules of CouchDB's _design/_auth: the form and names of user documents, who may write
// which, and that only admins assign roles. It does not handle design documents. Errors are of kind Forbidden.
func CheckUserUpdate(up UserUpdate) error {
	var old, doc userDocument
	if up.Old != nil {
		if err := layer.UnmarshalExact(up.Old, &old); err != nil && !up.DatabaseAdmin {
			return forbidden("Only admins may replace a malformed user doc.")
		}
	}
	if up.Deleted {
		if slices.Contains(up.By.Roles, AdminRole) || (up.By.Name != "" && up.By.Name == old.Name) {
			return nil
		}
		return forbidden("Only admins may delete other user docs.")
	}
	if err := checkUserShape(up.ID, up.New, &doc); err != nil {
		return err
	}
	if up.Old != nil && old.Name != doc.Name {
		return forbidden("Usernames can not be changed.")
	}
	if !up.DatabaseAdmin {
		switch {
		case up.Old == nil && len(doc.Roles) > 0:
			return forbidden("Only _admin may set roles")
		case up.Old != nil && up.By.Name != doc.Name:
			return forbidden("You may only update your own user document.")
		case up.Old != nil && !sameSet(old.Roles, doc.Roles):
			return forbidden("Only _admin may edit roles")
		}
	}
	for _, role := range doc.Roles {
		if strings.HasPrefix(role, "_") && role != "_metrics" {
			return forbidden("No system roles (starting with underscore) in users db.")
		}
	}
	return nil
}

func checkUserShape(id string, body []byte, doc *userDocument) error {
	var shape struct {
		Type       any `json:"type"`
		Name       any `json:"name"`
		Roles      any `json:"roles"`
		Scheme     any `json:"password_scheme"`
		Iterations any `json:"iterations"`
		Key        any `json:"derived_key"`
		Verifier   any `json:"scram_verifier"`
	}
	if err := layer.UnmarshalExact(body, &shape); err != nil {
		return badRequest("Document must be a JSON object")
	}
	name, _ := shape.Name.(string)
	roles, isArray := shape.Roles.([]any)
	notString := func(v any) bool { _, ok := v.(string); return !ok }
	_, iterationsOK := shape.Iterations.(float64)
	switch {
	case shape.Type != "user":
		return forbidden("doc.type must be user")
	case name == "":
		return forbidden("doc.name is required")
	case shape.Roles == nil:
		return forbidden("doc.roles must exist")
	case !isArray:
		return forbidden("doc.roles must be an array")
	case slices.ContainsFunc(roles, notString):
		return forbidden("doc.roles can only contain strings")
	case id != UserPrefix+name:
		return forbidden("Doc ID must be of the form org.couchdb.user:name")
	case shape.Scheme == schemeVerifier && !goodVerifier(shape.Verifier):
		return forbidden("scram_verifier must be SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY.")
	case shape.Scheme != nil && shape.Scheme != "simple" && shape.Scheme != "pbkdf2" && shape.Scheme != schemeVerifier:
		return forbidden("Password scheme is not supported.")
	case shape.Scheme == "pbkdf2" && !iterationsOK:
		return forbidden("iterations must be a number.")
	case shape.Scheme == "pbkdf2" && notString(shape.Key):
		return forbidden("derived_key must be a string.")
	case strings.HasPrefix(name, "_"):
		return forbidden("Username may not start with underscore.")
	case strings.Contains(name, ":"):
		return forbidden("Character `:` is not allowed in usernames.")
	}
	if err := layer.UnmarshalExact(body, doc); err != nil {
		return forbidden("a member of the password has the wrong type.")
	}
	if doc.PasswordSHA != "" && doc.Salt == "" {
		return forbidden("Users with password_sha must have a salt.")
	}
	return nil
}

func goodVerifier(v any) bool {
	text, _ := v.(string)
	yes, _ := IsVerifier(text)
	return yes
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// PublicPart returns the members of a user document that everyone may read (public_fields), or nil if it has none.
func (a *Authenticator) PublicPart(doc []byte) []byte {
	public := a.rules.Load().PublicFields
	if len(public) == 0 {
		return nil
	}
	out := []byte{'{'}
	err := eachMember(doc, func(name string, value json.RawMessage) error {
		if !slices.Contains(public, name) {
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		text, err := json.Marshal(name)
		out = append(append(append(out, text...), ':'), value...)
		return err
	})
	if err != nil || len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// CheckUserRead applies CouchDB's rules for reading a document of _users, in addition to the database's _security:
// users see their own document, only admins see design documents, and all other documents appear not to exist.
func CheckUserRead(id string, by layer.UserCtx, databaseAdmin bool) error {
	switch {
	case databaseAdmin || (by.Name != "" && id == UserPrefix+by.Name):
		return nil
	case strings.HasPrefix(id, "_design/"):
		return forbidden("Only administrators can view design docs in the users database.")
	}
	return &layer.Error{Kind: layer.NotFound, Name: "not_found", Reason: "missing"}
}

package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/xdg-go/stringprep"
)

// Limits on the iterations of a stored hash. CouchDB's own hashes have 10 (1.x) to 600,000 (3.5).
const (
	minIterations = 1
	maxIterations = 10_000_000

	scramMinIterations = 4096 // RFC 7677, section 4
)

// ErrHash is returned by ParseHash for text in no known notation, such as a plain password.
var ErrHash = errors.New("not a password hash")

// Hash is a stored password. It is immutable and safe for concurrent use.
//
// There are two families. SCRAM verifiers, in Postgres' notation
//
//	SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY   (base64; RFC 5803)
//
// serve both ports, and whoever steals one cannot log in with it without guessing the password. CouchDB's notations
//
//	-pbkdf2:PRF-KEY,SALT,ITERATIONS   -pbkdf2-KEY,SALT,ITERATIONS (PRF sha)   -hashed-KEY,SALT
//	(hex; the salt is used as text)
//
// are read so that admins and users can be taken over unchanged. A PBKDF2 key made with sha256 is SCRAM's salted
// password, so these serve the SQL port too. The others serve only HTTP.
type Hash struct {
	scheme     scheme
	salt       string // the bytes that were hashed; decoded for SCRAM
	iterations int
	key        []byte // stored key for schemeSCRAM, derived key for PBKDF2, digest for schemeSimple
	serverKey  []byte // schemeSCRAM only
}

type scheme string

const (
	schemeSCRAM  scheme = "scram-sha-256"
	schemeSimple scheme = "simple" // sha1(password + salt), CouchDB 1.x
	// The PBKDF2 schemes are named by CouchDB's PRF.
	schemeSHA1   scheme = "sha"
	schemeSHA224 scheme = "sha224"
	schemeSHA256 scheme = "sha256"
	schemeSHA384 scheme = "sha384"
	schemeSHA512 scheme = "sha512"
)

var prfs = map[scheme]func() hash.Hash{
	schemeSHA1:   sha1.New,
	schemeSHA224: sha256.New224,
	schemeSHA256: sha256.New,
	schemeSHA384: sha512.New384,
	schemeSHA512: sha512.New,
}

// NewHash returns a SCRAM verifier of password with a random salt, for node.yaml.
func NewHash(password string, iterations int) Hash {
	raw := make([]byte, 16)
	rand.Read(raw)
	return newSCRAM(password, hexSalt(raw), iterations)
}

// hexSalt returns a salt in CouchDB's form: 16 bytes as hex text. All salts that the SQL port shows look like this, so
// that they do not reveal whether a name is a user's, an admin's or unknown.
func hexSalt(raw []byte) []byte { return hex.AppendEncode(nil, raw[:16]) }

func newSCRAM(password string, salt []byte, iterations int) Hash {
	stored, server := scramKeys(derive(sha256.New, prepared(password), string(salt), iterations, sha256.Size))
	return Hash{scheme: schemeSCRAM, salt: string(salt), iterations: iterations, key: stored, serverKey: server}
}

// derive computes PBKDF2. It fails only for parameters that newCouchHash, parseSCRAM and the configuration exclude.
func derive(prf func() hash.Hash, password, salt string, iterations, length int) []byte {
	key, err := pbkdf2.Key(prf, password, []byte(salt), iterations, length)
	if err != nil {
		panic(fmt.Sprintf("auth: PBKDF2 with %d iterations for %d bytes: %v", iterations, length, err))
	}
	return key
}

// ParseHash parses a stored hash in any notation listed at Hash. The error wraps ErrHash and never contains the text,
// which might be a password.
func ParseHash(text string) (Hash, error) {
	if rest, ok := strings.CutPrefix(text, "SCRAM-SHA-256$"); ok {
		return parseSCRAM(rest)
	}
	if rest, ok := strings.CutPrefix(text, "-hashed-"); ok {
		key, salt, ok := strings.Cut(rest, ",")
		if !ok {
			return Hash{}, fmt.Errorf("%w: -hashed- needs KEY,SALT", ErrHash)
		}
		return newCouchHash(schemeSimple, key, salt, 1)
	}
	rest, ok := strings.CutPrefix(text, "-pbkdf2")
	name, rest, hasKey := strings.Cut(rest, "-")
	if !ok || !hasKey {
		return Hash{}, ErrHash
	}
	prf := schemeSHA1
	if name != "" {
		given, colon := strings.CutPrefix(name, ":")
		if !colon {
			return Hash{}, ErrHash
		}
		prf = scheme(given)
	}
	parts := strings.Split(rest, ",")
	if len(parts) != 3 {
		return Hash{}, fmt.Errorf("%w: -pbkdf2 needs KEY,SALT,ITERATIONS", ErrHash)
	}
	iterations, err := strconv.Atoi(parts[2])
	if err != nil {
		return Hash{}, fmt.Errorf("%w: the iterations are not a number", ErrHash)
	}
	return newCouchHash(prf, parts[0], parts[1], iterations)
}

// looksHashed reports whether text begins like one of the notations that ParseHash accepts.
func looksHashed(text string) bool {
	return slices.ContainsFunc([]string{"SCRAM-SHA-256$", "-hashed-", "-pbkdf2"}, func(prefix string) bool {
		return strings.HasPrefix(text, prefix)
	})
}

func parseSCRAM(text string) (Hash, error) {
	params, keys, ok1 := strings.Cut(text, "$")
	iter, salt64, ok2 := strings.Cut(params, ":")
	stored64, server64, ok3 := strings.Cut(keys, ":")
	iterations, err0 := strconv.Atoi(iter)
	salt, err1 := base64.StdEncoding.DecodeString(salt64)
	stored, err2 := base64.StdEncoding.DecodeString(stored64)
	server, err3 := base64.StdEncoding.DecodeString(server64)
	if err := errors.Join(err0, err1, err2, err3); err != nil || !ok1 || !ok2 || !ok3 ||
		len(salt) == 0 || len(stored) != sha256.Size || len(server) != sha256.Size {
		return Hash{}, fmt.Errorf("%w: a SCRAM verifier is SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY", ErrHash)
	}
	if err := checkIterations(iterations); err != nil {
		return Hash{}, err
	}
	return Hash{scheme: schemeSCRAM, salt: string(salt), iterations: iterations, key: stored, serverKey: server}, nil
}

// newCouchHash returns the Hash for the parts of CouchDB's notation: a hex key and the salt as text.
func newCouchHash(s scheme, hexKey, salt string, iterations int) (Hash, error) {
	key, err := hex.DecodeString(hexKey)
	if err != nil {
		return Hash{}, fmt.Errorf("%w: the key is not in hex", ErrHash)
	}
	size := sha1.Size
	if s != schemeSimple {
		prf, ok := prfs[s]
		if !ok {
			return Hash{}, fmt.Errorf("%w: unknown PRF", ErrHash)
		}
		size = prf().Size()
	}
	// CouchDB before 3.4 wrote 20 bytes. A shorter PBKDF2 key is a prefix of the longer one. Anything shorter than a
	// SHA-1 is invalid.
	if len(key) < sha1.Size || len(key) > size {
		return Hash{}, fmt.Errorf("%w: the key has %d bytes", ErrHash, len(key))
	}
	if err := checkIterations(iterations); err != nil {
		return Hash{}, err
	}
	return Hash{scheme: s, salt: salt, iterations: iterations, key: key}, nil
}

func checkIterations(n int) error {
	if n < minIterations || n > maxIterations {
		return fmt.Errorf("%w: %d iterations are not between %d and %d", ErrHash, n, minIterations, maxIterations)
	}
	return nil
}

// String returns the hash in the notation that ParseHash reads.
func (h Hash) String() string {
	b64 := base64.StdEncoding.EncodeToString
	switch h.scheme {
	case schemeSCRAM:
		return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", h.iterations, b64([]byte(h.salt)), b64(h.key), b64(h.serverKey))
	case schemeSimple:
		return fmt.Sprintf("-hashed-%x,%s", h.key, h.salt)
	case schemeSHA1:
		return fmt.Sprintf("-pbkdf2-%x,%s,%d", h.key, h.salt, h.iterations)
	}
	return fmt.Sprintf("-pbkdf2:%s-%x,%s,%d", h.scheme, h.key, h.salt, h.iterations)
}

// Matches reports whether password is the one that was hashed. The time it takes depends on the number of iterations (a
// fifth of a second for 600,000) but not on the password.
//
// SCRAM clients apply SASLprep to the password, while CouchDB hashes it as typed. If the two differ, both are tried.
func (h Hash) Matches(password string) bool {
	prep := prepared(password)
	ok := h.matches(prep)
	if prep != password {
		ok = h.matches(password) || ok
	}
	return ok
}

// delay takes the time by which matching a hash like other would take longer than matching h. It keeps refusals for
// names with fewer iterations as slow as those for unknown names.
func (h Hash) delay(other Hash, password string) {
	more := other.iterations - h.iterations
	if prepared(password) != password {
		more *= 2 // Matches tries both forms
	}
	if more > 0 {
		derive(sha256.New, "", other.salt, more, sha256.Size)
	}
}

func (h Hash) matches(password string) bool {
	if h.scheme == schemeSimple {
		digest := sha1.Sum([]byte(password + h.salt))
		return subtle.ConstantTimeCompare(digest[:], h.key) == 1
	}
	if h.scheme == schemeSCRAM {
		stored, _ := scramKeys(derive(sha256.New, password, h.salt, h.iterations, sha256.Size))
		return subtle.ConstantTimeCompare(stored, h.key) == 1
	}
	derived := derive(prfs[h.scheme], password, h.salt, h.iterations, len(h.key))
	return subtle.ConstantTimeCompare(derived, h.key) == 1
}

// SCRAMKeys is what a SCRAM-SHA-256 server stores (RFC 5802, section 3).
type SCRAMKeys struct {
	Salt       []byte
	Iterations int
	StoredKey  []byte
	ServerKey  []byte
}

// SCRAM returns the keys for the SQL port. ok is false for hashes not made with SHA-256: such a password must be set
// again before it can be used over SQL.
func (h Hash) SCRAM() (keys SCRAMKeys, ok bool) {
	keys = SCRAMKeys{Salt: []byte(h.salt), Iterations: h.iterations}
	switch {
	case h.scheme == schemeSCRAM:
		keys.StoredKey, keys.ServerKey = h.key, h.serverKey
	case h.scheme == schemeSHA256 && len(h.key) == sha256.Size:
		keys.StoredKey, keys.ServerKey = scramKeys(h.key)
	default:
		return SCRAMKeys{}, false
	}
	return keys, true
}

// scramKeys derives the stored and the server key from the salted password (RFC 5802, section 3).
func scramKeys(salted []byte) (stored, server []byte) {
	client := mac(salted, "Client Key")
	sum := sha256.Sum256(client)
	return sum[:], mac(salted, "Server Key")
}

func mac(key []byte, message string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}

// prepared applies SASLprep (RFC 4013), as SCRAM requires. A password that SASLprep prohibits is used as typed, as
// libpq does.
func prepared(password string) string {
	if p, err := stringprep.SASLprep.Prepare(password); err == nil {
		return p
	}
	return password
}

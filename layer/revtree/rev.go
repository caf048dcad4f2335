// Package revtree is the pure part of the revision model: revision ids, branches, winner, stemming, merge. It does no
// I/O.
package revtree

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTextID is the longest revision id in bytes that is not a hash. CouchDB has no bound; here the id is part of keys.
const MaxTextID = 200

// ErrRev says that a text is no revision id, in CouchDB's words.
var ErrRev = errors.New("Invalid rev format") //nolint:staticcheck // CouchDB's words

// Rev is a revision id. ID is 32 lower-case hex digits for revisions that CouchDB or Divan made; clients that replicate
// may bring any other text. The zero Rev is none.
type Rev struct {
	Pos int64
	ID  string
}

// IsZero reports whether r is none.
func (r Rev) IsZero() bool { return r == Rev{} }

// IsHash reports whether the id is 32 lower-case hex digits, which are stored as 16 bytes.
func (r Rev) IsHash() bool { return isHash(r.ID) }

// String is "POS-ID".
func (r Rev) String() string {
	var b [64]byte
	return string(r.Append(b[:0]))
}

// Append appends String's form.
func (r Rev) Append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, r.Pos, 10)
	dst = append(dst, '-')
	return append(dst, r.ID...)
}

// ParseRev reads "POS-ID"; 32 hex digits are lower-cased. Position 0 is read too: _local documents have it. The error
// is ErrRev.
func ParseRev(s string) (Rev, error) {
	pos, id, ok := strings.Cut(s, "-")
	if !ok || len(pos) == 0 || len(pos) > 18 {
		return Rev{}, ErrRev
	}
	var r Rev
	for _, c := range []byte(pos) {
		if c < '0' || c > '9' {
			return Rev{}, ErrRev
		}
		r.Pos = r.Pos*10 + int64(c-'0')
	}
	if r.Pos == 0 && id == "" {
		return Rev{}, ErrRev
	}
	var err error
	r.ID, err = ParseID(id)
	return r, err
}

// ParseID reads the part of a revision id after the position, as in _revisions.ids; it may be empty, as in CouchDB. The
// error is ErrRev.
func ParseID(id string) (string, error) {
	if len(id) == 32 {
		lower := strings.ToLower(id)
		if !isHash(lower) {
			return "", ErrRev // as CouchDB: 32 characters are meant as a hash
		}
		return lower, nil
	}
	if len(id) > MaxTextID || !utf8.ValidString(id) {
		return "", ErrRev
	}
	return id, nil
}

func isHash(id string) bool {
	if len(id) != 32 {
		return false
	}
	bad := byte(0)
	for i := range 32 {
		bad |= noHexDigit[id[i]]
	}
	return bad == 0
}

// noHexDigit is 1 for each byte that is not a digit of a hash, and 0 for those that are: revisions are looked at so
// often that a look at each costs.
var noHexDigit = func() (table [256]byte) {
	for c := range table {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			table[c] = 1
		}
	}
	return table
}()

// Compare orders revisions as their keys are ordered: by position, then hashes before other texts, then bytes.
func (r Rev) Compare(s Rev) int {
	if c := cmp.Compare(r.Pos, s.Pos); c != 0 {
		return c
	}
	return compareIDs(r.ID, s.ID)
}

func compareIDs(a, b string) int {
	if ah, bh := isHash(a), isHash(b); ah != bh {
		if ah {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

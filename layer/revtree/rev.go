// Package revtree implements the revision model: revision ids, branches, winner, stemming and merge. It does no I/O.
package revtree

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTextID is the maximum length in bytes of a revision id that is not a hash. CouchDB has no limit, but here the id
// is part of keys.
const MaxTextID = 200

// ErrRev reports that a text is not a revision id, in CouchDB's words.
var ErrRev = errors.New("Invalid rev format") //nolint:staticcheck // CouchDB's words

// Rev is a revision id. ID is 32 lower-case hex digits for revisions made by CouchDB or Divan; replicating clients may
// send any other text. The zero Rev means none.
type Rev struct {
	Pos int64
	ID  string
}

// IsZero reports whether r is the zero Rev.
func (r Rev) IsZero() bool { return r == Rev{} }

// IsHash reports whether the id is 32 lower-case hex digits, which are stored as 16 bytes.
func (r Rev) IsHash() bool { return isHash(r.ID) }

// String returns "POS-ID".
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

// ParseRev parses "POS-ID", converting 32 hex digits to lower case. It accepts position 0, which _local documents have.
// The error is ErrRev.
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

// ParseID parses the part of a revision id after the position, as in _revisions.ids. As in CouchDB, it may be empty.
// The error is ErrRev.
func ParseID(id string) (string, error) {
	if len(id) == 32 {
		lower := strings.ToLower(id)
		if !isHash(lower) {
			return "", ErrRev // as in CouchDB, 32 characters must be a hash
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

// noHexDigit is 0 for each byte that is a digit of a hash, and 1 for all others. A table is fast enough for the many
// revisions that are checked.
var noHexDigit = func() (table [256]byte) {
	for c := range table {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			table[c] = 1
		}
	}
	return table
}()

// Compare orders revisions as their keys are ordered: by position, then hashes before other texts, then by bytes.
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
